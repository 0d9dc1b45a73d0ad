"""Tools that are called from outside: a run of their own each, through the gate."""

from __future__ import annotations

from typing import Any

from kit import add, go
from treadle import Toolkit, tool
from treadle._flows.direct_calls import DirectCalls
from treadle._journal.memory import MemoryJournal
from treadle._types.events import ToolDone, ToolStarted
from treadle._types.messages import text_of


@tool
async def wipe(path: str) -> str:
    """Delete a file."""
    raise AssertionError("must not run")


async def test_a_call_is_recorded_as_a_run_with_its_outcome():
    journal = MemoryJournal()
    outcome = await DirectCalls(Toolkit([add]), journal=journal).call("add", {"a": 2, "b": 3})
    assert text_of(outcome.content) == "5"
    [info] = await journal.list()
    assert info.status == "finished"
    kinds = [type(record.event) for record in await journal.load(info.run_id)]
    assert kinds.index(ToolStarted) < kinds.index(ToolDone)


async def test_failures_are_outcomes():
    calls = DirectCalls(Toolkit([add]))
    assert (await calls.call("add", {"a": "x"})).error == "invalid_args"
    unknown = await calls.call("ad", {})
    assert unknown.error == "unknown_tool"
    assert "add" in text_of(unknown.content)


async def test_what_needs_a_person_is_refused():
    for policy in ("ask", "deny"):
        calls = DirectCalls(Toolkit([wipe.replace(approval=policy)]))
        outcome = await calls.call("wipe", {"path": "/"})
        assert outcome.error == "denied"
        assert not outcome.executed


def test_output_is_shown_while_the_tool_works():
    @tool
    async def count() -> Any:
        """Count."""
        for number in range(3):
            yield str(number)

    shown: list[str] = []
    outcome = go(DirectCalls(Toolkit([count])).call("count", {}, shown.append))
    assert "".join(shown) == text_of(outcome.content) == "012"
