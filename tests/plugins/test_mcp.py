"""MCP servers in runs: their tools are offered, followed while they change, and there again after a resume."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from kit import add, call, go
from programs import python
from tools.mcp.test_resources import server
from treadle import Agent, Approval, Budget, BudgetExhaustedError, McpAuth, ScriptedModel, tool
from treadle._config import load_agent
from treadle._journal.memory import MemoryJournal
from treadle._plugins.mcp import McpTools, named_in
from treadle._tools.base import Effect
from treadle._tools.builtin.knowledge.retrieval import KnowledgeBase
from treadle._tools.external import client_tool
from treadle._tools.mcp.client import McpConnection
from treadle._types.errors import ConfigError
from treadle._types.events import Noted, PhaseChanged, ToolDone, ToolsChanged
from treadle._types.messages import text_of
from treadle.testing import assert_replays

pytest.importorskip("mcp")
TESTS = Path(__file__).resolve().parent.parent
SERVER = str(TESTS / "tools" / "mcp" / "server.py")
SAMPLE = TESTS / "data" / "config" / "research.json"


def connection(name: str = "test") -> McpConnection:
    effects: dict[str, Effect] = {"custom_tool": "pure", "pid": "idempotent"}
    program, *before = python()
    return McpConnection(name, command=program, args=[*before, SERVER], timeout=120, effects=effects)


@tool
async def pid() -> str:
    """Not the server's."""
    return "mine"


async def test_a_run_uses_them_next_to_its_own():
    model = ScriptedModel(
        [
            [call("custom_tool", text="abc"), call("test_pid"), call("pid"), call("die")],
            call("grow"),
            call("grown", word="up"),
            "done",
        ]
    )
    agent = Agent(model, [add, pid], plugins=[McpTools(connection())])
    run = agent.start("q")
    result = await run
    assert result.answer == "done"
    done = {r.event.name: r.event for r in run.records if isinstance(r.event, ToolDone)}
    assert done["custom_tool"].content == "cba"
    assert str(done["test_pid"].content).isdigit()
    assert done["pid"].content == "mine"
    assert "was lost" in text_of(done["die"].content)
    assert done["grown"].content == "grown up"
    offered = [[schema.name for schema in r.event.tools] for r in run.records if isinstance(r.event, ToolsChanged)]
    assert offered[0][:2] == ["add", "pid"]
    assert offered[-1] == [*offered[0], "grown"]


def test_only_some_and_with_approval():
    server = connection()
    model = ScriptedModel([call("pid"), "done"])
    agent = Agent(model, plugins=[McpTools(server, only=("custom_tool",), approval="ask")])
    result = go(agent.run("q"))
    assert [tool.name for tool in model.requests[0].tools] == ["custom_tool"]
    assert result.steps[0].error == "unknown_tool"


def test_one_under_another_name_is_asked_about_by_its_own():
    """`pid` of the server is shown as `test_pid` here: whoever wants to be asked about `pid` is asked about both."""
    agent = Agent(ScriptedModel([call("test_pid"), "done"]), [pid], plugins=[McpTools(connection())], ask=("pid",))
    assert [one.tool for one in go(agent.run("q")).pending] == ["test_pid"]


async def test_a_tool_of_the_caller_does_not_take_the_name_of_the_servers():
    """The server lists its tools when the run has begun: the run is refused, and no tool was renamed for it."""
    model = ScriptedModel([call("pid"), call("test_pid"), "done"])
    agent = Agent(model, [add], plugins=[McpTools(connection())], ask=("pid",))
    result = await agent.launch(agent.prepare("q", client_tools=[client_tool("pid")]))
    assert (result.stop_reason, model.requests) == ("error", [])
    assert "the tool 'pid' was brought for this run, but the agent has one of that name" in str(result.error)


async def test_a_server_that_is_not_there_costs_its_tools_only():
    model = ScriptedModel(["done"])
    agent = Agent(model, [add], plugins=[McpTools(McpConnection("gone", command="no-such-command-of-ours"))])
    run = agent.start("q")
    result = await run
    assert result.answer == "done"
    notes = [r.event.data for r in run.records if isinstance(r.event, Noted)]
    assert "command not found" in notes[0]["problem"]
    assert "command not found" in result.metadata["reports"]["mcp:gone"]
    assert any("command not found" in r.event.phase for r in run.records if isinstance(r.event, PhaseChanged))
    assert [tool.name for tool in model.requests[0].tools] == ["add"]


async def test_a_resumed_run_has_them_again():
    journal = MemoryJournal()
    plugins = [McpTools(connection())]
    run = Agent(
        ScriptedModel([call("pid"), call("custom_tool", text="abc"), "done"]),
        [pid],
        plugins=plugins,
        journal=journal,
    ).start("q")
    await run
    # The process dies right after the second call was asked for.
    cut = [r for r in run.records if not isinstance(r.event, ToolDone) or r.event.name != "custom_tool"]
    cut = cut[
        : next(
            i
            for i, r in enumerate(cut)
            if getattr(r.event, "call", None) is not None and r.event.call.name == "custom_tool"
        )
    ]
    for name, source in (
        ("copy", connection()),
        ("orphan", McpConnection("test", command="no-such-command-of-ours")),
    ):
        await journal.append([type(r)(name, r.seq, r.time, r.event) for r in cut])
        model = ScriptedModel(["done", "done"])
        again = await Agent(model, [pid], plugins=[McpTools(source)], journal=journal).resume(name)
        assert again.answer == "done"
        assert [step.tool for step in again.steps] == ["pid", "custom_tool"]
        observation = again.steps[1].observation
        assert observation == "cba" if name == "copy" else "cannot be reached" in observation


def test_a_name_that_is_taken_gets_the_servers_name_then_a_number():
    @tool(name="test_pid")
    async def test_pid() -> str:
        """Has the name that the server's tool would get."""
        return "mine too"

    model = ScriptedModel(["done"])
    go(Agent(model, [pid, test_pid], plugins=[McpTools(connection(), only=("pid",))]).run("q"))
    assert [tool.name for tool in model.requests[0].tools] == ["pid", "test_pid", "pid_2"]


class Server(Struct):
    """A server as a document describes it."""

    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}
    transport: str = "http"
    timeout: float = 30.0
    variables: dict[str, str] = {}
    auth: McpAuth | None = None
    roots: tuple[str, ...] = ()
    sampling: bool = False
    elicitation: bool = False
    log_level: str = ""


def test_a_document_fills_its_variables_into_every_text():
    described = Server(
        url="https://{host}/mcp",
        headers={"Authorization": "Bearer {key}"},
        transport="sse",
        variables={"host": "h", "key": "k"},
    )
    plugin = McpTools.from_settings("docs", described, only=("find",))
    endpoint = plugin.connection.endpoint
    assert (plugin.name, endpoint.url, endpoint.transport) == ("mcp:docs", "https://h/mcp", "sse")
    assert endpoint.headers == {"Authorization": "Bearer k"}
    auth = McpAuth(client_id="{host}", client_secret="{key}", issuer="https://{host}")
    keyless = McpTools.from_settings(
        "docs", Server(url="https://h/mcp", variables={"host": "h", "key": "k"}, auth=auth)
    )
    assert keyless.connection.auth == McpAuth(client_id="h", client_secret="k", issuer="https://h")
    local = McpTools.from_settings("files", Server("{tool}", ["{folder}"], {"A": "{tool}"}, variables={"tool": "t"}))
    assert (local.connection.endpoint.command, local.connection.endpoint.args) == ("t", ("{folder}",))
    assert local.connection.endpoint.env == {"A": "t"}


def test_a_document_without_command_and_url_is_an_error_that_names_the_server():
    with pytest.raises(ConfigError, match="MCP server 'docs'"):
        McpTools.from_settings("docs", Server())


def test_tool_selection_sees_them():
    model = ScriptedModel(['{"tools": ["custom_tool"]}', call("custom_tool", text="abc"), "done"])
    agent = Agent(model, [add], plugins=[McpTools(connection())], selection_threshold=3)
    result = go(agent.run("q"))
    assert result.answer == "done"
    assert [tool.name for tool in model.requests[1].tools] == ["custom_tool", "more_tools"]


def test_the_sample_of_the_description_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("TREADLE_TEST_PYTHON", sys.executable)
    monkeypatch.setenv("TREADLE_TEST_MCP", SERVER)
    monkeypatch.setenv("GOOGLE_API_KEY", "k")
    monkeypatch.setenv("GOOGLE_CSE_ID", "c")
    (tmp_path / "research.json").write_bytes(SAMPLE.read_bytes())
    (tmp_path / "lighthouse.txt").write_text("The lighthouse of Lindesnes was built in 1655.")
    KnowledgeBase(tmp_path / "kb.db").add(tmp_path / "lighthouse.txt")
    calls = [
        {"name": "retrieval", "arguments": {"query": "lighthouse"}},
        {"name": "custom_tool", "arguments": {"text": "5561"}},
    ]
    model = ScriptedModel(
        [
            "the goal is a year",
            json.dumps(calls),
            "that is enough",
            '[{"name": "__complete_task__", "arguments": {}}]',
            "It was built in 1655.",
        ]
    )
    result = go(load_agent(tmp_path / "research.json", model=model).run("When was the lighthouse built?"), 500)
    assert result.answer == "It was built in 1655."
    assert [request.component for request in model.requests] == ["analysis", "loop", "reflection", "loop", "complete"]
    assert "custom_tool" in str(model.requests[0].messages)
    assert "1655" in str(model.requests[3].messages)
    assert result.tools_used == ["retrieval", "custom_tool"]
    assert result.iterations == 2


pytest.importorskip("mcp")
QUESTION = "What does the lamp cost (@shop:shop://lamp)? Use @shop:prompt:review?what=it."


def asked(question: str, **options: Any) -> tuple[Any, Any]:
    async def main() -> tuple[Any, Any]:
        plugin = McpTools(server(), only=["none"], **options)
        model = ScriptedModel(["12 euros"])
        agent = Agent(model, None, plugins=[plugin], journal=MemoryJournal())
        run = agent.start(question)
        done: list[ToolDone] = []
        run.subscribe(lambda record: done.append(record.event) if isinstance(record.event, ToolDone) else None)
        result = await run
        await assert_replays(agent, result.run_id)
        await plugin.aclose()
        sent = "\n".join(text_of(getattr(m, "content", "")) for m in model.requests[-1].messages)
        return result, (sent, done)

    return go(main())


def test_what_a_question_names_is_read_through_the_gate_and_is_from_outside():
    result, (sent, done) = asked(QUESTION, mentions=True)
    assert result.answer == "12 euros"
    assert "The lamp costs 12 euros" in sent
    assert "Review it." in sent
    assert [event.source for event in done] == ["the MCP server shop"] * 2
    assert result.sources == ("the MCP server shop",)


def test_without_the_setting_it_is_a_word_like_any_other():
    result, (sent, done) = asked(QUESTION)
    assert result.sources == ()
    assert "The lamp costs 12 euros" not in sent
    assert not done


def test_what_cannot_be_read_is_said():
    _, (sent, done) = asked("And @shop:shop://nothing?", mentions=True)
    assert "there is no such thing" in sent
    assert [bool(event.error) for event in done] == [True]


def test_names_in_a_question():
    assert named_in("@shop:a://b, (@shop:c). @other:d x@shop:e @shop:a://b!", "shop") == ["a://b", "c"]
    assert len(named_in(" ".join(f"@shop:{n}" for n in range(50)), "shop")) == 8


pytest.importorskip("mcp")


def observed(tool: str, replies: list[Any], plugins: list[Any] = [], **options: Any) -> tuple[Any, Any]:  # noqa: B006
    async def main() -> tuple[Any, Any]:
        plugin = McpTools(server(), **options)
        agent = Agent(ScriptedModel([call(tool), *replies]), None, plugins=[plugin, *plugins])
        result = await agent.run("q")
        await plugin.aclose()
        return result, agent.model

    result, model = go(main())
    return (json.loads(result.steps[0].observation) if result.steps else None), (result, model)


def test_the_run_s_model_answers_on_record_and_on_its_bill():
    said, (result, model) = observed("ask_model", ["lamp", "done"], sampling=True)
    assert said["content"]["text"] == "lamp"
    assert result.answer == "done"
    assert result.metadata["components"]["mcp_sampling"]["calls"] == 1
    assert model.requests[1].max_tokens == 50
    assert [m.role for m in model.requests[1].messages] == ["user"], "the server sees nothing of the conversation"


def test_a_budget_that_is_used_up_is_not_exceeded_for_a_server():
    model = ScriptedModel([call("ask_model"), "lamp", "done"])
    plugin = McpTools(server(), sampling=True)

    async def main() -> None:
        try:
            await Agent(model, None, plugins=[plugin], budget=Budget(requests=1)).run("q")
        finally:
            await plugin.aclose()

    with pytest.raises(BudgetExhaustedError):
        go(main())
    assert len(model.requests) == 1


def test_without_the_setting_both_are_refused():
    assert "error" in observed("ask_model", ["done"])[0]
    assert "error" in observed("ask_user", ["done"])[0]


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (True, {"action": "accept", "content": {"size": "small", "count": 2}}),
        (
            {"allow": True, "args": {"size": "big", "count": 5}},
            {"action": "accept", "content": {"size": "big", "count": 5}},
        ),
        ({"allow": True, "args": {"count": "many"}}, {"action": "decline"}),
        (False, {"action": "decline"}),
    ],
)
def test_whoever_approves_is_asked_with_the_defaults(decision: Any, expected: dict[str, Any]):
    seen: list[Any] = []

    async def decide(asked: Any) -> Any:
        seen.append((asked.name, asked.args))
        return decision

    said, _ = observed("ask_user", ["done"], [Approval(decide)], elicitation=True)
    assert seen == [("shop_asks", {"size": "small", "count": 2})]
    assert {name: said[name] for name in expected} == expected


def test_nobody_to_ask_declines():
    said, (result, _) = observed("ask_user", ["done"], [Approval()], elicitation=True)
    assert said["action"] == "decline"
    assert result.answer == "done"
