"""Calls made inside a call: the same gate, and nothing twice when the outer call runs again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.executions import execution, recorded, started
from kit import add, echo, fail
from treadle import Budget, tool
from treadle._engine.acting.nested import NestedCalls
from treadle._engine.plugin import Pause
from treadle._types import events as ev
from treadle._types.messages import ToolCall
from virtual_time import go_virtual


async def test_calls_are_numbered_within_the_outer_one_and_recorded():
    run = await started(tools=[add, echo])
    nested = NestedCalls(run, "c1")
    assert (await nested.call("add", {"a": 1, "b": 2})).content == "3"
    assert (await nested.call("echo", {"text": "x"})).content == "x"
    assert [event.call_id for event in recorded(run, ev.ToolDone)] == ["c1.0", "c1.1"]
    assert nested.usage.tool_calls == 2


async def test_what_the_log_has_is_not_done_again():
    ran: list[int] = []

    @tool
    async def pay(amount: int) -> str:
        """Pay."""
        ran.append(amount)
        return f"paid {amount}"

    first = await started(tools=[pay])
    await NestedCalls(first, "c1").call("pay", {"amount": 5})
    again = NestedCalls(execution(tools=[pay], records=first.log.records), "c1")
    outcome = await again.call("pay", {"amount": 5})
    assert (outcome.content, outcome.executed, ran) == ("paid 5", False, [5])
    assert (await again.call("pay", {"amount": 6})).content == "paid 6"


@pytest.mark.parametrize(
    ("effect", "args", "error"),
    [
        ("unsafe", {"text": "x"}, "unknown_outcome"),
        ("unsafe", {"text": "other"}, "unknown_outcome"),
        ("pure", {"text": "x"}, ""),
    ],
    ids=["unsafe", "unsafe with other arguments", "pure"],
)
async def test_a_call_that_was_cut_off_is_repeated_only_where_that_is_safe(
    effect: str, args: dict[str, Any], error: str
):
    first = await started(tools=[echo])
    await first.emit(ev.ToolStarted(ToolCall("c1.0", "echo", {"text": "x"}), 1, effect=effect))
    again = NestedCalls(execution(tools=[echo], records=first.log.records), "c1")
    assert (await again.call("echo", args)).error == error


async def test_code_that_went_another_way_makes_its_own_calls():
    first = await started(tools=[add, echo])
    await NestedCalls(first, "c1").call("echo", {"text": "x"})
    again = NestedCalls(execution(tools=[add, echo], records=first.log.records), "c1")
    assert (await again.call("add", {"a": 2, "b": 2})).content == "4"


async def test_when_only_the_log_may_answer_nothing_is_run():
    first = await started(tools=[echo])
    await NestedCalls(first, "c1").call("echo", {"text": "x"})
    again = NestedCalls(execution(tools=[echo], records=first.log.records), "c1", replay_only=True)
    assert (await again.call("echo", {"text": "x"})).content == "x"
    assert (await again.call("echo", {"text": "y"})).error == "unknown_outcome"


async def test_calls_of_another_outer_call_are_not_taken_for_these():
    first = await started(tools=[echo])
    await NestedCalls(first, "c1").call("echo", {"text": "one"})
    await NestedCalls(first, "c10").call("echo", {"text": "ten"})
    again = NestedCalls(execution(tools=[echo], records=first.log.records), "c10", replay_only=True)
    assert (await again.call("echo", {"text": "ten"})).content == "ten"


async def test_the_gate_holds_inside_too():
    run = await started(tools=[echo.replace(approval="deny"), fail], budget=Budget(tool_calls=1))
    nested = NestedCalls(run, "c1")
    assert (await nested.call("echo", {"text": "x"})).error == "denied"
    assert (await nested.call("nowhere", {})).error == "unknown_tool"
    assert (await nested.call("fail", {})).error == "exception"
    assert (await nested.call("fail", {})).error == "rejected"


async def test_a_call_that_waits_for_a_person_is_remembered():
    run = await started(tools=[echo.replace(approval="ask")])
    nested = NestedCalls(run, "c1")
    with pytest.raises(Pause):
        await nested.call("echo", {"text": "x"})
    assert [call.id for call in nested.waiting] == ["c1.0"]


async def test_a_tool_of_a_document_needs_no_offer():
    run = await started(tools=[])
    assert (await NestedCalls(run, "c1").call("step", {"text": "x"}, tool=echo)).content == "x"


@pytest.mark.parametrize(
    ("changes", "settings", "seconds"),
    [({}, {}, 1), ({"concurrent": False}, {}, 4), ({}, {"max_parallel": 2}, 2)],
    ids=["side by side", "alone", "two at a time"],
)
def test_calls_run_side_by_side_where_allowed(changes: Any, settings: Any, seconds: float):
    @tool(timeout=None)
    async def nap() -> str:
        """Take a second."""
        await asyncio.sleep(1)
        return ""

    async def main() -> None:
        run = await started(tools=[nap.replace(**changes)], **settings)
        nested = NestedCalls(run, "c1")
        await asyncio.gather(*(nested.call("nap", {}) for _ in range(4)))

    assert go_virtual(main())[1] == pytest.approx(seconds)
