"""Tools, seen from a run: definition, validation, failures, observations, extras, parallel calls, selection."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from kit import add, call, echo, go
from treadle import (
    Agent,
    Artifact,
    BaseTool,
    ScriptedModel,
    Tool,
    ToolError,
    Toolkit,
    ToolParam,
    ToolResponse,
    ToolReturn,
    ToolSpec,
    tool,
)
from treadle._types.errors import ConfigError, DuplicateToolError, SchemaError
from treadle._types.events import ToolDone, ToolOutput, ToolSelectionStarted
from treadle._types.messages import text_of
from virtual_time import go_virtual


def run(tools: list[Any], *script: Any, **options: Any) -> Any:
    return go(Agent(ScriptedModel([*script, "done"]), tools, **options).run("q"))


def test_a_tool_from_everything():
    async def execute(text: str) -> str:
        return text.upper()

    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    raw = Tool("raw", "Upper case.", schema, execute)
    assert raw.timeout == 30.0

    @tool
    def sync(text: str, times: int = 2) -> str:
        """Repeat.

        Args:
            text: what to repeat
            times: how often
        """
        return text * times

    class Shout(BaseTool):
        spec = ToolSpec(
            "shout",
            "Shout.",
            [ToolParam("text", str, description="what"), ToolParam("loud", "bool", required=False)],
            ToolReturn(str),
        )

        def __call__(self, **kwargs: Any) -> ToolResponse:
            return ToolResponse(self.spec.check_inputs(kwargs)["text"] + "!")

    agent = Agent(ScriptedModel(["sub"]), [echo], name="sub")
    kit = Toolkit([raw, sync, Shout(), agent, add])
    assert kit.names == ("raw", "sync", "shout", "sub", "add")
    parameters = kit.get("sync").parameters
    assert parameters["properties"]["times"]["description"] == "how often"
    assert parameters["required"] == ["text"]
    result = run([raw, sync, Shout()], [call("raw", text="a"), call("sync", text="b"), call("shout", text="c")])
    assert [step.observation for step in result.steps] == ["A", "bb", "c!"]


def test_arguments_are_validated_with_words():
    result = run([add], call("add", a="one", b=True), call("add", a=1))
    first, second = (step.observation for step in result.steps)
    assert "'a'" in first
    assert "integer" in first
    assert "one" in first
    assert "'b'" in first
    assert "b" in second
    assert all(step.error == "invalid_args" for step in result.steps)
    with pytest.raises(SchemaError):
        Toolkit(
            [Tool("x", "", {"type": "object", "properties": {"a": {"$ref": "http://somewhere/else"}}}, lambda: None)]
        )


@pytest.mark.parametrize(("policy", "error"), [("prune", ""), ("reject", "invalid_args")])
def test_unknown_arguments(policy: str, error: str):
    result = run([add], call("add", a=1, b=2, c=3), unknown_args=policy)
    assert result.steps[0].error == error


def test_unknown_arguments_can_be_repaired_by_the_model():
    from treadle import RepairPolicy

    model = ScriptedModel([call("add", a=1, b=2, c=3), call("add", a=1, b=2), "done"])
    result = go(Agent(model, [add], unknown_args="reject", repair=RepairPolicy(max_tool=1)).run("q"))
    assert [request.component for request in model.requests] == ["loop", "repair", "loop"]
    assert [step.error for step in result.steps] == ["invalid_args", ""]


def test_a_value_of_unknown_args_that_did_nothing_is_refused_with_the_alternatives():
    with pytest.raises(ConfigError, match=r'"repair" was removed.*"reject".*RepairPolicy.*"prune", "schema"'):
        Agent(ScriptedModel(["done"]), [add], unknown_args="repair")


def test_every_failure_is_an_observation():
    @tool(timeout=0.05)
    async def slow() -> str:
        """Slow."""
        await asyncio.sleep(5)
        return ""

    @tool
    async def broken() -> str:
        """Broken."""
        raise KeyError("x")

    @tool
    async def leaves() -> str:
        """Leave."""
        raise SystemExit(3)

    result = run(
        [slow, broken, leaves, echo],
        [call("slow"), call("broken"), call("leaves"), call("ecko", text="x"), call("echo")],
    )
    assert [step.error for step in result.steps] == [
        "timeout",
        "exception",
        "exception",
        "unknown_tool",
        "invalid_args",
    ]
    assert "echo" in result.steps[3].observation
    assert result.answer == "done"


def test_error_detail():
    @tool
    async def broken(kind: str) -> str:
        """Broken."""
        raise ToolError("told on purpose") if kind == "tool" else ValueError("inner detail")

    for detail, shown in (("class", False), ("message", True), ("full", True)):
        result = run([broken], [call("broken", kind="tool"), call("broken", kind="value")], error_detail=detail)
        assert "told on purpose" in result.steps[0].observation
        assert ("inner detail" in result.steps[1].observation) is shown
        assert "ValueError" in result.steps[1].observation


def test_a_failed_call_is_repaired_up_to_a_bound():
    from treadle import RepairPolicy

    attempts: list[int] = []

    @tool
    async def picky(n: int) -> str:
        """Wants 3."""
        attempts.append(n)
        if n != 3:
            raise ValueError("not 3")
        return "ok"

    model = ScriptedModel([call("picky", n=1), call("picky", n=2), call("picky", n=3), "done"])
    result = go(Agent(model, [picky], repair=RepairPolicy(max_tool=2, backoff=0.01)).run("q"))
    assert [request.component for request in model.requests] == ["loop", "repair", "repair", "loop"]
    assert attempts == [1, 2, 3]
    assert result.steps[-1].observation == "ok"


async def test_observations_are_cut_with_the_marker_inside_the_limit():
    model = ScriptedModel([call("echo", text="x" * 5000), "done"])
    started = Agent(model, [echo], max_observation_chars=300).start("q")
    result = await started
    assert len(result.steps[0].observation) == 300
    assert result.metadata["truncated_observations"] == 1
    kept = next(record.event for record in started.records if isinstance(record.event, ToolDone))
    assert kept.full == "x" * 5000


async def test_extras_go_to_the_next_call_only_and_win():
    seen: list[Any] = []

    @tool
    async def first(n: int) -> ToolResponse:
        """Leave something."""
        return ToolResponse("ok", extras={"secret": object(), "who": f"extra {n}"})

    @tool
    async def second(who: str = "model", **kwargs: Any) -> str:
        """Take it."""
        seen.append((who, "secret" in kwargs))
        return "ok"

    model = ScriptedModel(
        [[call("first", n=1), call("first", n=2)], call("second", who="model"), call("second", who="model"), "done"]
    )
    started = Agent(model, [first, second], unknown_args="prune").start("q")
    await started
    assert seen == [("extra 2", True), ("model", False)]
    assert all("extra 2" not in str(record.event) for record in started.records)


async def test_after_a_crash_the_next_call_is_told_that_they_are_gone():
    from treadle._engine.core.blueprint import Origin
    from treadle._engine.run import new_run

    @tool
    async def first() -> ToolResponse:
        """Leave something."""
        return ToolResponse("ok", extras={"handle": 1})

    agent = Agent(ScriptedModel([call("first"), call("echo", text="x"), "done"]), [first, echo])
    whole = agent.start("q")
    await whole
    cut = next(i for i, record in enumerate(whole.records) if isinstance(record.event, ToolDone)) + 1
    second = Agent(ScriptedModel([call("echo", text="x"), call("echo", text="x"), "done"]), [first, echo])
    loaded = await second.load(whole)
    replica = new_run(loaded.blueprint, Origin(run_id="copy", question="q"), records=whole.records[:cut])
    result = await second.launch(replica)
    assert [step.error for step in result.steps] == ["", "lost_extras", ""]
    assert "gone" in result.steps[1].observation


async def test_generators_stream_live():
    @tool
    def sync_pieces() -> Iterator[str]:
        """Pieces."""
        yield "a"
        yield "b"

    @tool
    async def async_pieces() -> AsyncIterator[str]:
        """Pieces."""
        yield "c"
        yield "d"

    agent = Agent(ScriptedModel([[call("sync_pieces"), call("async_pieces")], "done"]), [sync_pieces, async_pieces])
    events = [event async for event in agent.stream("q")]
    assert sorted(event.text for event in events if isinstance(event, ToolOutput)) == ["a", "b", "c", "d"]
    assert sorted(text_of(event.content) for event in events if isinstance(event, ToolDone)) == ["ab", "cd"]


def test_parallel_with_order_and_a_tool_that_runs_alone():
    log: list[str] = []

    async def note(name: str) -> str:
        log.append(f"+{name}")
        await asyncio.sleep(0.02)
        log.append(f"-{name}")
        return name

    free, alone = tool(note, name="free", description="d"), tool(note, name="alone", description="d", concurrent=False)
    result = run(
        [free, alone], [call("free", name="a"), call("free", name="b"), call("alone", name="c"), call("free", name="d")]
    )
    assert [step.observation for step in result.steps] == ["a", "b", "c", "d"]
    assert log[:2] == ["+a", "+b"]
    assert log[log.index("+c") + 1] == "-c"
    single = run([echo], [call("echo", text="1"), call("echo", text="2")], one_tool_per_step=True)
    assert [step.error for step in single.steps] == ["", "rejected"]


def test_artifacts_are_named_not_shown():
    @tool
    async def draw() -> Artifact:
        """Draw."""
        return Artifact("pic.svg", "<svg>SECRET</svg>", "image/svg+xml")

    model = ScriptedModel([call("draw"), "done"])
    result = go(Agent(model, [draw]).run("q"))
    assert result.steps[0].observation.startswith("[Artifact generated: pic.svg]")
    assert "SECRET" not in str(model.requests[1].messages)
    assert result.artifacts[0].name == "pic.svg"


def test_toolkit_swap_stop_and_a_domain_agent():
    with pytest.raises(DuplicateToolError):
        Toolkit([echo]).register(echo)
    with pytest.raises(TypeError):
        Toolkit([3])

    class SqlAgent(Agent):
        def __init__(self, model: Any) -> None:
            super().__init__(model, [echo], instructions="Answer with SQL only.")

    async def main() -> None:
        agent: Any = None

        def swap(request: Any) -> Any:
            agent.update_toolkit([add])
            return call("echo", text="x")

        model = ScriptedModel([swap, call("add", a=1, b=2), call("echo", text="gone"), "done"])
        agent = SqlAgent(model)
        result = await agent.run("q")
        assert "SQL only" in model.requests[0].messages[0].text
        assert [tool.name for tool in model.requests[1].tools] == ["add"]
        assert [step.error for step in result.steps] == ["", "", "unknown_tool"]
        waiting = Agent(ScriptedModel([call("nap")]), [nap])
        started = waiting.start("q")
        await asyncio.sleep(1)  # of the virtual clock: until everything waits
        waiting.stop()
        assert (await started).stop_reason == "cancelled"

    @tool(timeout=None)
    async def nap() -> str:
        """Sleep."""
        await asyncio.sleep(60)
        return ""

    go_virtual(main())


def many_tools(count: int) -> list[Tool]:
    async def work() -> str:
        return "worked"

    schema = {"type": "object", "properties": {}}
    return [Tool(f"tool_{n}", f"Does thing number {n}. " + "x" * 200, schema, work) for n in range(count)]


async def test_selection_above_the_threshold():
    chosen = {"name": "select_tools", "args": {"tools": ["tool_3", "nonsense", "tool_5"]}}
    model = ScriptedModel(
        [chosen, call("tool_3"), call("tool_7"), call("more_tools", names=["tool_7"]), call("tool_7"), "done"]
    )
    tools = [*many_tools(13), echo.replace(pinned=True)]
    started = Agent(model, tools).start("q")
    events: list[Any] = []
    started.subscribe(lambda record: events.append(record.event))
    result = await started
    assert [r.component for r in model.requests][:2] == ["selection", "loop"]
    assert {t.name for t in model.requests[1].tools} >= {"tool_3", "tool_5", "echo", "more_tools"}
    assert "tool_9" not in {t.name for t in model.requests[1].tools}
    catalogue = text_of(model.requests[0].messages[-1].content)
    assert max(map(len, catalogue.splitlines())) <= 80
    assert [step.error for step in result.steps] == ["", "unknown_tool", "", ""]
    assert ToolSelectionStarted(14) in events
    greedy = ScriptedModel([{"name": "select_tools", "args": {"tools": [f"tool_{n}" for n in range(9)]}}, "done"])
    await Agent(greedy, many_tools(13)).run("q")
    assert len([t for t in greedy.requests[1].tools if t.name.startswith("tool_")]) == 6


def test_any_failure_means_the_full_set_and_strict_never_selects():
    model = ScriptedModel(["garbage"] * 5 + [call("tool_1"), "done"])
    result = go(Agent(model, many_tools(13)).run("q"))
    assert result.answer == "done"
    assert len(model.requests[-1].tools) == 13
    strict = ScriptedModel(["done"])
    go(Agent(strict, many_tools(20), preset="strict").run("q"))
    assert [r.component for r in strict.requests] == ["loop"]


def test_sync_tools_run_beside_each_other_in_threads():
    names: set[str] = set()
    all_at_once = threading.Barrier(4)

    @tool
    def block() -> str:
        """Wait until four of these run."""
        names.add(threading.current_thread().name)
        all_at_once.wait(timeout=20)
        return "x"

    result = run([block], [call("block") for _ in range(4)])
    assert [step.error for step in result.steps] == [""] * 4
    assert threading.main_thread().name not in names
