"""Documents and files over HTTP: the answer streams, memories belong to the one user, code finds what was sent."""

from __future__ import annotations

import threading
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kit import NO_ADVICE, add, call
from server.serving import serving
from treadle import Agent, ScriptedModel
from treadle._config.document import parse_document
from treadle._config.graph import GraphAgent
from treadle._plugins.memory.plugin import Memory
from treadle._plugins.memory.store import MemoryStore
from treadle._types.request import Reply, Request, StreamPart, TextDelta
from waiting import GUARD_SECONDS

PARAMS = {"preset": "default", "tools": [{"component_name": "calculator"}]}
DOCUMENT = {
    "Agent:A": {"obj": {"component_name": "Agent", "params": PARAMS}, "downstream": ["Message:M"]},
    "Message:M": {"obj": {"component_name": "Message", "params": {"content": ["{{Agent:A@content}}"]}}},
}


class Held(ScriptedModel):
    """Writes one word, and the rest when it is let go on."""

    def __init__(self, words: threading.Event) -> None:
        super().__init__([])
        self.words = words

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        import asyncio

        yield TextDelta("first ")
        await asyncio.to_thread(self.words.wait, GUARD_SECONDS)
        yield TextDelta("second")
        yield Reply("first second")


def test_a_client_sees_the_first_word_while_the_agent_of_a_document_writes_the_second():
    go_on = threading.Event()
    document = GraphAgent(parse_document(DOCUMENT), Path(), model=Held(go_on))
    with serving(document) as client:
        run = client.start("q")
        before = client.events(run, until="answer")
        while not any(event["data"].get("content") for event in before if event["event"] == "answer"):
            before = client.events(run, limit=len(before) + 1)
        assert "first" in str(before)
        assert "second" not in str(before)
        go_on.set()
        assert client.wait(run)["answer"] == "first second"


def test_a_document_remembers_on_a_server_without_tokens(tmp_path: Path):
    def model(request: Any) -> Any:
        if request.component == "memory_summary":
            return "The sum is 42."
        return "42" if "ToolMessage" in str(request.messages) else call("calculator", expression="6*7")

    memory = Memory(MemoryStore(tmp_path / "memory.db"), rank="text")
    document = GraphAgent(parse_document(DOCUMENT), Path(), model=ScriptedModel(model), plugins=[memory])
    with serving({"sums": document}) as client:
        client.wait(client.start("What is the sum?"))
        (memo,) = client.get("/api/memory/sums?user=local")["memories"]
        assert (memo["summary"], memo["user"]) == ("The sum is 42.", "local")


def test_code_finds_a_file_that_was_sent():
    pytest.importorskip("pydantic_monty")
    reads = "```python\nfinal_answer(open('/work/data.csv').read())\n```"
    model = ScriptedModel([reads], abilities={"tool_call": False})
    data = b64encode(b"x,y\n1,2").decode()
    question = [
        {"type": "text", "text": "What is in it?"},
        {"type": "file", "data": data, "name": "data.csv", "mime": "text/csv"},
    ]
    with serving(Agent(model, [add], preset="code", plugins=NO_ADVICE)) as client:
        run = client.post("/api/runs", {"question": question}, 201)["run_id"]
        assert client.wait(run)["answer"] == "x,y\n1,2"
