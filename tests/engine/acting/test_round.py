"""The calls of one reply: admitted together, run side by side where allowed, one result each."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest

from engine.executions import execution, recorded, started
from kit import add, echo
from treadle import ScriptedModel, ToolError, ToolResponse, tool
from treadle._engine.acting.round import run_tools
from treadle._engine.plugin import Pause
from treadle._tools.signature import Extra
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, ToolCall
from virtual_time import go_virtual


def calls(name: str, count: int, **args: Any) -> list[ToolCall]:
    return [ToolCall(f"c{n}", name, args) for n in range(count)]


@tool(timeout=None)
async def nap() -> str:
    """Take a second."""
    await asyncio.sleep(1)
    return "slept"


@pytest.mark.parametrize(
    ("settings", "changes", "seconds"),
    [
        ({}, {}, 1),
        ({"max_parallel": 2}, {}, 2),
        ({"max_parallel": None}, {}, 1),
        ({"max_parallel": 1}, {}, 4),
        ({}, {"concurrent": False}, 4),
    ],
    ids=["side by side", "two at a time", "all at once", "one at a time", "alone"],
)
def test_calls_run_side_by_side_where_settings_and_tool_allow(settings: Any, changes: Any, seconds: float):
    async def main() -> None:
        run = await started(tools=[nap.replace(**changes)], calls=calls("nap", 4), **settings)
        await run_tools(run)
        assert [step.observation for step in run.state.steps] == ["slept"] * 4

    assert go_virtual(main())[1] == pytest.approx(seconds)


def test_a_tool_that_stands_alone_divides_the_others():
    async def main() -> None:
        alone = nap.replace(name="alone", concurrent=False)
        asked = [ToolCall(f"c{n}", name) for n, name in enumerate(["nap", "nap", "alone", "nap", "nap"])]
        await run_tools(await started(tools=[nap, alone], calls=asked))

    assert go_virtual(main())[1] == pytest.approx(3)


async def test_only_the_first_call_of_a_reply_runs_where_one_is_allowed():
    run = await started(tools=[echo], calls=calls("echo", 3, text="x"), one_tool_per_step=True)
    await run_tools(run)
    assert [step.error for step in run.state.steps] == ["", "rejected", "rejected"]


@pytest.mark.parametrize(("dialect", "second"), [("native", ""), ("json", "rejected")])
async def test_one_tool_in_text_dialects_only(dialect: str, second: str):
    model = ScriptedModel([], abilities={"tool_call": dialect == "native"})
    asked = calls("echo", 2, text="x")
    run = await started(model, [echo], calls=asked, one_tool_per_step="text", dialect=dialect)
    await run_tools(run)
    assert [step.error for step in run.state.steps] == ["", second]


@pytest.mark.parametrize(("effect", "error"), [("unsafe", "unknown_outcome"), ("pure", ""), ("idempotent", "")])
async def test_a_call_that_was_under_way_at_a_crash_runs_again_only_where_that_is_safe(effect: str, error: str):
    (call,) = calls("echo", 1, text="x")
    before = await started(tools=[echo], calls=[call])
    await before.emit(ev.ToolStarted(call, 1, effect=effect))
    run = execution(tools=[echo], records=before.log.records)
    await run_tools(run)
    assert [step.error for step in run.state.steps] == [error]


# ---- extras


@tool
async def make() -> ToolResponse:
    """Leave an object for the next call."""
    return ToolResponse("made", extras={"handle": [1, 2, 3]})


@tool
async def use(**extras: Any) -> str:
    """Use what was left."""
    return f"got {extras.get('handle')}"


async def test_objects_pass_from_one_round_to_the_next_only():
    run = await started(tools=[make, use], calls=calls("make", 1))
    await run_tools(run)
    assert run.calls.extras == {"handle": [1, 2, 3]}
    for expected in ("got [1, 2, 3]", "got None"):
        await run.emit(ev.ThinkDone("loop", 2, AssistantMessage("", (ToolCall(expected, "use"),))))
        await run_tools(run)
        assert run.state.steps[-1].observation == expected


async def test_objects_that_died_with_their_process_are_reported():
    before = await started(tools=[make, use], calls=calls("make", 1))
    await run_tools(before)
    await before.emit(ev.ThinkDone("loop", 2, AssistantMessage("", (ToolCall("next", "use"),))))
    run = execution(tools=[make, use], records=before.log.records)
    await run_tools(run)
    assert run.state.steps[-1].error == "lost_extras"
    assert "run that tool again first" in run.state.steps[-1].observation


async def test_objects_still_wait_when_no_call_was_made():
    run = await started(tools=[use.replace(approval="deny")], calls=calls("use", 1))
    run.calls.extras = {"handle": 1}
    await run_tools(run)
    assert run.calls.extras == {"handle": 1}


@tool
async def query(text: str, handle: Annotated[list[int], Extra]) -> str:
    """Ask what was left."""
    if text == "wrong":
        raise ToolError("no such column")
    return f"{text}: {handle}"


@pytest.mark.parametrize(
    "failing",
    [
        ToolCall("bad", "qeury", {"text": "x"}),
        ToolCall("bad", "query", {}),
        ToolCall("bad", "query", {"text": "wrong"}),
    ],
    ids=["wrong name", "missing argument", "error of the tool"],
)
async def test_objects_wait_for_a_call_that_uses_them(failing: ToolCall):
    run = await started(tools=[make, query], calls=calls("make", 1))
    await run_tools(run)
    await run.emit(ev.ThinkDone("loop", 2, AssistantMessage("", (failing,))))
    await run_tools(run)
    assert run.state.steps[-1].error
    assert (run.calls.extras, run.state.calls.extras_pending) == ({"handle": [1, 2, 3]}, True)
    resumed = execution(tools=[make, query], records=run.log.records)
    await run.emit(ev.ThinkDone("loop", 3, AssistantMessage("", (ToolCall("good", "query", {"text": "x"}),))))
    await run_tools(run)
    assert run.state.steps[-1].observation == "x: [1, 2, 3]"
    assert (run.calls.extras, run.state.calls.extras_pending) == ({}, False)
    # In another process they are gone, and the call is told so, whatever failed in between.
    await resumed.emit(ev.ThinkDone("loop", 3, AssistantMessage("", (ToolCall("good", "query", {"text": "x"}),))))
    await run_tools(resumed)
    assert resumed.state.steps[-1].error == "lost_extras"


# ---- pauses


async def test_a_person_is_asked_about_all_calls_of_a_round_before_any_of_them_runs():
    careful = echo.replace(name="careful", approval="ask")
    asked = [
        ToolCall("c0", "echo", {"text": "x"}),
        ToolCall("c1", "careful", {"text": "y"}),
        ToolCall("c2", "careful", {"text": "z"}),
    ]
    run = await started(tools=[echo, careful], calls=asked)
    run.calls.extras = {"handle": 1}
    with pytest.raises(Pause) as caught:
        await run_tools(run)
    assert [call.id for call in caught.value.calls] == ["c1", "c2"]
    assert recorded(run, ev.ToolStarted, ev.ToolDone) == []
    assert run.calls.extras == {"handle": 1}
    for call_id in ("c1", "c2"):
        await run.emit(ev.Approved(call_id, True))
    await run_tools(run)
    assert [step.observation for step in run.state.steps] == ["x", "y", "z"]


async def test_tools_that_wait_for_a_person_let_the_others_finish_and_pause_together():
    @tool(timeout=None, effect="idempotent")
    async def delegate() -> ToolResponse:
        """Ask another agent, which has to ask a person."""
        return ToolResponse("", waiting=(ToolCall("inner", "pay"),))

    asked = [ToolCall("c0", "delegate"), ToolCall("c1", "add", {"a": 1, "b": 2}), ToolCall("c2", "delegate")]
    run = await started(tools=[delegate, add], calls=asked)
    with pytest.raises(Pause) as caught:
        await run_tools(run)
    assert [call.id for call in caught.value.calls] == ["inner", "inner"]
    assert [event.call_id for event in recorded(run, ev.ToolDone)] == ["c1"]
    assert len(run.state.calls.pending()) == 2


async def test_a_cancelled_round_stops_all_of_its_calls():
    stopped: list[int] = []
    begun = asyncio.Semaphore(0)

    @tool(timeout=None)
    async def hang(n: int) -> str:
        """Hang."""
        begun.release()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(n)
        return ""

    run = await started(tools=[hang], calls=[ToolCall(f"c{n}", "hang", {"n": n}) for n in range(3)])
    task = asyncio.ensure_future(run_tools(run))
    for _ in range(3):
        await begun.acquire()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(stopped) == [0, 1, 2]
