"""The ledger's lines about code mode, built-ins, MCP, the probe, events and durable runs; their rooms have the thorough tests."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kit import add, call, echo, go
from treadle import Agent, ScriptedModel, tool
from treadle._config.graph import GraphAgent
from treadle._flows.replay import fork, replay
from treadle._journal.memory import MemoryJournal
from treadle._journal.portable import export_run, import_run
from treadle._journal.sqlite import SqliteJournal
from treadle._journal.upcast import decode_stored
from treadle._models.catalog.probe import probe
from treadle._server.live.projection import Projection
from treadle._tools.builtin import BUILTINS, builtin
from treadle._types.events import RunStarted, encode_event

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def code(text: str) -> str:
    return f"I compute.\n```python\n{text}\n```"


def code_agent(*script: str) -> Agent:
    pytest.importorskip("pydantic_monty")
    return Agent(ScriptedModel(list(script), abilities={"tool_call": False}), [add], preset="code")


def test_L15_the_action_is_python_that_calls_tools():
    result = go(code_agent(code("x = add(a=1, b=2)\nprint(x * 10)"), "The answer is 30.").run("q"))
    assert "30" in result.steps[-1].observation or any("30" in step.observation for step in result.steps)
    assert result.answer == "The answer is 30."


def test_L110_variables_persist_and_errors_come_with_the_line():
    result = go(code_agent(code("x = 20"), code("y = x + 1\ny * 2"), code("1/0"), "done").run("q"))
    seen = [step.observation for step in result.steps]
    assert any("42" in text for text in seen)
    assert any("ZeroDivisionError" in text and "line 1" in text for text in seen)


def test_L111_imports_outside_the_list_are_refused():
    result = go(code_agent(code("import socket"), "done").run("q"))
    assert result.steps[0].error or "socket" in result.steps[0].observation
    assert result.answer == "done"


def test_L44_built_in_tools_are_all_there():
    assert {
        "retrieval", "duckduckgo", "google", "tavily", "baidu", "wikipedia", "arxiv", "pubmed", "qweather", "yahoo_finance", "sql",
        "code_exec", "files", "http_fetch", "calculator",
    } <= set(BUILTINS)  # fmt: skip
    calculator = builtin("calculator")
    result = go(Agent(ScriptedModel([call("calculator", expression="17 * 23 + 4"), "395"]), [calculator]).run("q"))
    assert "395" in result.steps[0].observation


def test_L45_tools_of_an_mcp_server(tmp_path: Path):
    pytest.importorskip("mcp.client")
    from treadle._plugins.mcp import McpTools
    from treadle._tools.mcp.client import McpConnection

    server = tmp_path / "server.py"
    server.write_text(
        "from mcp.server.mcpserver import MCPServer\n"
        "app = MCPServer('ledger')\n"
        "@app.tool()\n"
        "def double(n: int) -> int:\n"
        "    '''Twice.'''\n"
        "    return 2 * n\n"
        "app.run()\n"
    )
    connection = McpConnection("ledger", command=sys.executable, args=[str(server)])
    model = ScriptedModel([call("double", n=21), "42"])

    async def main() -> None:
        result = await Agent(model, [echo], plugins=[McpTools(connection)]).run("q")
        await connection.close()
        assert "42" in result.steps[0].observation
        assert "double" in {offered.name for offered in model.requests[0].tools}

    go(main(), limit=60)


def test_L95_a_probe_says_what_really_works():
    mute = ScriptedModel(
        lambda request: "Sure, whatever you say.", abilities={"tool_call": True, "json_mode": True, "json_schema": True}
    )
    report = go(probe(mute))
    assert report.works("tool_call") is False
    assert report.works("json_schema") is False
    assert report.dialect != "native"


def shown(run: Any, detail: str = "plain") -> list[Any]:
    projection = Projection(detail)  # pyright: ignore[reportArgumentType]
    return [event for record in run.records for event in projection.feed(record)]


def two_phase_run() -> Any:
    async def main() -> Any:
        model = ScriptedModel([call("add", a=1, b=2), "3", "It is **3**."])
        run = Agent(model, [add], preset="two_phase").start("1+2?")
        await run
        return run

    return go(main())


def test_L120_the_events_of_the_protocol():
    events = shown(two_phase_run())
    kinds = [(event.name, event.data.get("type"), event.data.get("status")) for event in events]
    assert kinds == [
        ("step", "thinking", "start"), ("step", "thinking", "done"), ("step", "iteration", "start"), ("step", "iteration", "done"),
        ("step", "thinking", "start"), ("step", "thinking", "done"), ("step", "answer", "start"),
        ("answer", None, "start"), ("answer", None, "delta"), ("answer", None, "done"), ("done", None, None),
    ]  # fmt: skip
    assert {"iteration", "tool_name", "observation", "error", "iter_elapsed"} <= set(events[3].data)
    assert {"answer", "iterations", "usage", "elapsed"} <= set(events[-1].data)


def test_L121_every_event_has_an_id_and_a_client_sees_the_rest_exactly_once():
    events = shown(two_phase_run())
    positions = [event.at for event in events]
    assert positions == sorted(positions)
    for cut in range(len(events)):
        rest = [later for event in events if (later := event.after(events[cut].at)) is not None]
        assert [event.data for event in rest] == [event.data for event in events[cut + 1 :]]


def test_L122_the_page_has_what_it_must_show():
    source = Path(__file__).resolve().parents[2] / "web" / "src"
    words = "\n".join(path.read_text("utf-8") for path in source.rglob("*.ts*"))
    for part in ("iterations", "tool call", "approv", "compact", "inject", "dagre", "DOMPurify", "fork", "sandbox"):
        assert part in words, part


def test_L130_an_agent_from_a_document():
    from treadle._config.document import parse_document

    document = parse_document({"agent": {"llm_id": "x@OpenAI", "tools": [{"component_name": "calculator"}]}})
    model = ScriptedModel(["hello"])
    assert go(GraphAgent(document, Path(), model=model).run("hi")).answer == "hello"


def test_L140_a_run_goes_on_from_its_last_record(tmp_path: Path):
    ran: list[str] = []

    @tool(effect="idempotent")
    async def work(n: int) -> str:
        """Work."""
        ran.append(str(n))
        if n == 2:
            second.set()
        return f"done {n}"

    second = asyncio.Event()

    async def main() -> None:
        journal = SqliteJournal(tmp_path / "journal.db")
        run = Agent(ScriptedModel([call("work", n=1), call("work", n=2), "end"]), [work], journal=journal).start("q")
        await second.wait()
        await run.abandon()
        result = await Agent(ScriptedModel(["end"]), [work], journal=journal).resume(run.id)
        assert result.answer == "end"
        assert ran.count("1") == 1
        await journal.aclose()

    go(main())


def test_L141_list_resume_replay_fork_export_import():
    async def main() -> None:
        journal = MemoryJournal()
        agent = Agent(ScriptedModel([call("echo", text="a"), "one", "two"]), [echo], journal=journal)
        result = await agent.run("q")
        assert [info.run_id for info in await journal.list()] == [result.run_id]
        assert replay(await journal.load(result.run_id)).same
        forked = await fork(journal, result.run_id, 2)
        assert (await agent.resume(forked)).answer == "two"
        other = MemoryJournal()
        assert await import_run(other, await export_run(journal, result.run_id)) == result.run_id
        assert await other.load(result.run_id) == await journal.load(result.run_id)

    go(main())


def test_L142_runs_on_many_machines_are_declared():
    pytest.importorskip("temporalio")
    from treadle._durable.temporal import Advancer, TemporalSubmitter, temporal_worker

    assert callable(temporal_worker)
    assert Advancer.advance.__name__ == "advance"
    assert {"submit", "send", "approve", "cancel", "wait"} <= set(dir(TemporalSubmitter))


def test_L143_an_older_log_still_loads_and_old_runs_can_be_cleared(tmp_path: Path):
    event = RunStarted("what?", tools=())
    assert decode_stored(encode_event(event), 1) == event
    unknown = msgspec.json.encode({"type": "run_started", "question": "q", "a_field_of_a_later_version": 1})
    assert decode_stored(unknown, 1).question == "q"  # pyright: ignore[reportAttributeAccessIssue]

    async def main() -> None:
        journal = SqliteJournal(tmp_path / "journal.db")
        result = await Agent(ScriptedModel(["x"]), [echo], journal=journal).run("q")
        assert list(await journal.gc(older_than=0.0)) == [result.run_id]
        assert await journal.list() == []
        await journal.aclose()

    go(main())
