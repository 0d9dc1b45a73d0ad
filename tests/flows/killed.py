"""A program that kills itself inside the work of another agent, the first time: `killed.py KIND JOURNAL MARK`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from treadle import Agent, ScriptedModel, open_journal, tool
from treadle._config.document import parse_document
from treadle._config.graph import GraphAgent
from treadle._types.errors import RunNotFoundError
from treadle._types.request import StreamPart
from treadle.plugins import BackgroundAgents

KIND, JOURNAL, MARK = sys.argv[1:4]


@tool(effect="pure")
def look() -> str:
    """Look."""
    if not Path(MARK).exists():
        Path(MARK).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "found"


def inner(request: Any) -> Any:
    return {"name": "look", "args": {}} if len(request.messages) < 2 else "It is in the attic."


def outer(request: Any) -> Any:
    words = [str(getattr(message, "content", "")) for message in request.messages]
    if KIND == "handoff":
        return {"name": "transfer_to_scout", "args": {"reason": "it knows"}}
    if any("has ended" in text for text in words):
        return words[-1].partition("\n")[2]
    return {"name": "start_scout", "args": {"task": "look"}} if len(words) < 2 else "Too early."


def component(question: str, *after: str) -> dict[str, Any]:
    params = {"preset": "default", "prompts": [{"role": "user", "content": question}]}
    return {"obj": {"component_name": "Agent", "params": params}, "upstream": [*after]}


def asked_last(request: Any) -> str:
    return str(request.messages[-1].content)


class Branches(ScriptedModel):
    """Kills the process while both branches are asked, and notes on disk what was asked of which component."""

    def __init__(self) -> None:
        super().__init__(lambda request: f"<{asked_last(request)}>")
        self.both = asyncio.Barrier(2)

    async def stream(self, request: Any) -> AsyncIterator[StreamPart]:
        if self.is_first(asked_last(request)):
            await self.both.wait()
            os.kill(os.getpid(), signal.SIGKILL)
        async for part in super().stream(request):
            yield part

    def is_first(self, asked: str) -> bool:
        """Note the request; return whether it is the first one of a branch."""
        with Path(MARK).open("a") as file:
            file.write(f"{asked.split()[0]}\n")
        return asked in ("left", "right") and Path(MARK).read_text().count(asked) == 1


def document() -> GraphAgent:
    parts = {
        "Agent:First": component("first {{sys.query}}"),
        "Agent:Left": component("left", "Agent:First"),
        "Agent:Right": component("right", "Agent:First"),
        "Agent:Last": component("last {{Agent:Left@content}} {{Agent:Right@content}}", "Agent:Left", "Agent:Right"),
    }
    return GraphAgent(parse_document({"components": parts}), Path(), model=Branches(), journal=open_journal(JOURNAL))


async def main() -> None:
    if KIND == "document":
        made = document()
        try:
            result = await made.resume("r")
        except RunNotFoundError:
            result = await made.run("q", run_id="r")
        print(result.answer)
        return
    scout = Agent(ScriptedModel(inner), [look], name="scout")
    tools, plugins = ([scout.as_handoff()], []) if KIND == "handoff" else (None, [BackgroundAgents(scout)])
    async with Agent(ScriptedModel(outer), tools, plugins=plugins, journal=JOURNAL) as agent:
        try:
            result = await agent.resume("r")
        except RunNotFoundError:
            result = await agent.run("Where is it?", run_id="r")
        print(result.answer, result.usage.requests)


asyncio.run(main())
