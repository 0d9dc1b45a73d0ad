"""Programs of other engines, recorded without changing a line, inspected, and continued here.

The traffic of four of them is in `tests/data/programs`; with `.venv/peers` (`python3 tasks.py peers`) they run
themselves. The fifth is a bare loop on OpenAI's SDK, which always runs.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from kit import go
from record.exchanges import played, recorded
from treadle import Agent, Journal, ScriptedModel, fork, open_journal, replay, tool
from treadle._journal.memory import MemoryJournal
from treadle._record.findings import findings
from treadle._types.events import Record
from treadle._types.request import Request
from treadle._types.state import fold

ROOT = Path(__file__).parents[2]
NAMES = ["langgraph", "openai_agents", "pydantic_ai", "smolagents"]
PEERS = ROOT / ".venv" / "peers" / "bin" / "python"
ANSWER = "The lamp costs 40 dollars."
BARE = """
import json
from openai import OpenAI

client = OpenAI()
schema = {"type": "object", "properties": {"item": {"type": "string"}}}
tools = [{"type": "function", "function": {"name": "price", "description": "The price.", "parameters": schema}}]
messages = [{"role": "user", "content": "What does the lamp cost?"}]
while True:
    message = client.chat.completions.create(model="gpt-5-mini", messages=messages, tools=tools).choices[0].message
    messages.append(message.model_dump(exclude_none=True))
    if not message.tool_calls:
        break
    for call in message.tool_calls:
        price = {"lamp": "40.0"}[json.loads(call.function.arguments)["item"]]
        messages.append({"role": "tool", "tool_call_id": call.id, "content": price})
print(message.content)
"""


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    spec = importlib.util.spec_from_file_location("openai_stub", ROOT / "benchmarks" / "openai_stub.py")
    stub = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stub)
    server = stub.make_stub()
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield stub.address_of(server)
    server.shutdown()
    server.server_close()
    thread.join()


@tool(effect="pure")
async def price(item: str) -> float:
    """The price of an item in dollars."""
    return {"lamp": 40.0}[item]


def from_results(request: Request) -> str:
    """An answer out of what the request says, so that it is right only if the results are there."""
    return ANSWER if "40.0" in str(request.messages[-2:]) else "I do not know."


async def check(journal_file: str) -> None:
    """Inspect the recorded run and continue it from its second step, with another model."""
    journal = open_journal(journal_file)
    try:
        (info,) = await journal.list(tag="recorded")
        await inspect_and_continue(journal, await journal.load(info.run_id))
    finally:
        await journal.aclose()


async def inspect_and_continue(journal: Journal, records: list[Record]) -> None:
    state = fold(records)
    assert "What does the lamp cost?" in state.question
    assert [(step.tool, step.args) for step in state.steps] == [("price", {"item": "lamp"})]
    assert "40.0" in state.steps[0].observation
    assert state.finished.stop_reason in ("answer", "final_tool")
    assert "40" in state.finished.answer
    assert state.usage.input_tokens == 200
    assert [finding.kind for finding in findings(records) if finding.kind != "prefix_broken"] == []
    assert replay(records).same
    agent = Agent(ScriptedModel([from_results]), tools=[price], journal=journal)
    answered = await agent.resume(await fork(journal, records[0].run, 2))
    assert answered.answer == ANSWER


@pytest.mark.parametrize("name", NAMES)
async def test_recorded_traffic_of_a_program_is_a_run_that_goes_on_here(name: str):
    journal = MemoryJournal()
    (records,) = await recorded(played(ROOT / "tests" / "data" / "programs" / f"{name}.jsonl"), journal=journal)
    await inspect_and_continue(journal, records)


def record_and_check(python: str, program: str, provider: str, folder: Path, sources: str = "") -> None:
    file = folder / "program.py"
    file.write_text(program, "utf-8")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "TREADLE_STATE": str(folder / "state")}
    env |= {"OPENAI_BASE_URL": provider, "OPENAI_API_KEY": "sk-not-a-real-key-at-all", "PYTHONPATH": sources}
    start = f"import os, sys; os.environ.pop('PYTHONPATH', None); os.execv({python!r}, [{python!r}, {str(file)!r}])"
    command = [sys.executable, "-P", "-m", "treadle", "record", "--", sys.executable, "-c", start]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 exchanges recorded" in done.stderr
    go(check(str(folder / "state" / "journal.db")))
    assert b"sk-not-a-real-key" not in (folder / "state" / "journal.db").read_bytes()


def test_a_bare_loop_on_the_sdk(provider: str, tmp_path: Path):
    record_and_check(sys.executable, BARE, provider, tmp_path, os.environ.get("PYTHONPATH", ""))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_program_of_another_engine_where_it_is_installed(name: str, provider: str, tmp_path: Path):
    if not PEERS.exists():
        pytest.skip("python3 tasks.py peers installs the other engines")
    page = (ROOT / "docs" / "migrate" / f"{name}.md").read_text("utf-8")
    program = re.findall(r'^```python title="[^"]+"\n(.*?)^```', page, re.DOTALL | re.MULTILINE)[0]
    record_and_check(str(PEERS), program, provider, tmp_path, os.environ.get("PYTHONPATH", ""))
