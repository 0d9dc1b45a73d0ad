"""The work of a run inside another counts in the other one's state."""

from __future__ import annotations

from treadle._types import events as ev
from treadle._types.events import decode_event, encode_event
from treadle._types.state import fold
from treadle._types.usage import Usage
from treadle._types.work import Artifact, Spent, Step, Work

CALL = Step(1, "search", {"q": "x"}, "found", "", 0.5, "run.a:1", "why", (Artifact("a.md", "text"),))
DONE = ev.StepDone(
    "a", "completed", "r", usage=Usage(10, 5, requests=2), stop_reason="answer",
    work=Work(2, (CALL,), {"tool_calls": 1, "compactions": 3}, {"loop": Spent(2, Usage(10, 5, requests=2), 1.5)}),
)  # fmt: skip


def records(*events: ev.Event) -> list[ev.Record]:
    return [ev.Record("run", seq, 0.0, event) for seq, event in enumerate((ev.RunStarted("q"), *events))]


def test_the_work_of_steps_adds_up_and_is_paid_for_once():
    state = fold(records(DONE, DONE))
    assert (state.iteration, len(state.steps), state.counters.tool_calls, state.counters.compactions) == (4, 2, 2, 6)
    assert state.usage == Usage(20, 10, requests=4)
    assert (state.spent["loop"].calls, state.spent["loop"].usage.requests, state.spent["loop"].elapsed) == (4, 4, 3.0)
    assert DONE.work is not None
    assert DONE.work.components["loop"].calls == 2, "a record is not changed by the fold"


def test_a_record_without_it_is_as_good_as_before():
    state = fold(records(ev.StepDone("a", "completed", "r", usage=Usage(1, 1))))
    assert (state.iteration, state.steps, state.usage.total_tokens) == (0, [], 2)


def test_it_is_stored_and_read_again():
    assert decode_event(encode_event(DONE)) == DONE


def test_a_count_of_a_later_version_is_left_out():
    strange = ev.StepDone("a", "completed", work=Work(counters={"no_such_count": 1, "failed_calls": 2}))
    assert fold(records(strange)).counters.failed_calls == 2
