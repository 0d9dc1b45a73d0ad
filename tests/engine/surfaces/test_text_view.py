"""A run as plain text: nothing twice, no marker in part, whatever the pieces were."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle._engine.surfaces.text_view import CLOSE, OPEN, TextView
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, ToolCall

ADD = ToolCall("c1", "add", {"a": 1})


def shown(*events: Any, markers: bool = False) -> str:
    view = TextView(markers=markers)
    records = [ev.Record("run", n, 0.0, event) for n, event in enumerate(events)]
    return "".join(piece for record in records for piece in view.feed(record))


def stream(text: str, *cuts: int, component: str = "loop") -> list[Any]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [ev.TextStreamed(component, 1, text[a:b]) for a, b in pairwise(places)]


def thought(text: str = "", *calls: ToolCall, **more: Any) -> ev.ThinkDone:
    return ev.ThinkDone("loop", 1, AssistantMessage(text, calls), **more)


def test_an_answer_that_was_not_streamed_is_shown_when_it_is_done():
    assert shown(ev.AnswerDone("42", "loop")) == "42"
    assert shown(ev.AnswerDone("42", "loop"), markers=True) == f"{OPEN}42{CLOSE}"


def test_thoughts_tools_and_results_in_their_order():
    events = (
        thought("", ADD, thought="I add."), ev.ToolStarted(ADD, 1), ev.ToolDone("c1", "add", 1, "3"),
        ev.AnswerDone("It is 3.", "loop"),
    )  # fmt: skip
    assert shown(*events) == 'I add.\n\n[add] {"a":1}\n3\nIt is 3.'


def test_the_output_of_a_tool_that_was_streamed_is_not_repeated():
    events = (ev.ToolStarted(ADD, 1), ev.ToolOutput("c1", "add", "3"), ev.ToolDone("c1", "add", 1, "3"))
    assert shown(*events) == '\n[add] {"a":1}\n3\n'


def test_the_failure_of_a_tool_that_was_streamed_is_shown_once():
    failed = ev.ToolDone("c1", "add", 1, "Tool 'add' failed: gone Output so far:\n3", "exception")
    assert shown(ev.ToolStarted(ADD, 1), ev.ToolOutput("c1", "add", "3"), failed) == (
        "\n[add] {\"a\":1}\n3\nTool 'add' failed: gone\n"
    )


def test_a_streamed_thought_is_not_repeated_when_it_is_done():
    assert shown(*stream("I add.", 3), thought("I add.", ADD, thought="I add.")) == "I add."


def test_an_unreadable_thought_is_not_shown_in_its_place():
    assert shown(thought("{", thought="(unreadable)", problem="no JSON")) == ""


def test_what_is_only_thought_is_shown_by_nobody_else():
    assert shown(ev.TextStreamed("loop", 1, "secret", reasoning=True), ev.TextStreamed("planner", 1, "advice")) == ""


def pieces(text: str, *cuts: int, provisional: bool = True) -> list[Any]:
    return [ev.AnswerDelta(event.text, provisional) for event in stream(text, *cuts)]


def test_words_that_were_a_thought_stay_where_they_are_and_are_not_repeated():
    events = (*pieces("I add.", 3), ev.AnswerRetracted("I add."), thought("I add.", ADD, thought="I add."))
    assert shown(*events) == "I add.\n"
    assert shown(*events, markers=True) == "I add.\n"


@given(st.lists(st.integers(0, 200), max_size=8), st.booleans(), st.booleans())
def test_the_answer_stands_between_the_markers_once(cuts: list[int], markers: bool, provisional: bool):
    answer = "It is < 3 and > 2."
    events = (
        *pieces(answer, *cuts, provisional=provisional), thought(answer, answer=answer), ev.AnswerDone(answer, "loop")
    )  # fmt: skip
    assert shown(*events, markers=markers) == (f"{OPEN}{answer}{CLOSE}" if markers else answer)


def test_an_answer_that_begins_anew_closes_its_markers():
    events = (
        *pieces("Three", provisional=False),
        ev.Reset("synthesis", 1),
        ev.AnswerDelta("3"),
        ev.AnswerDone("3", "x"),
    )
    assert shown(*events, markers=True) == f"{OPEN}Three{CLOSE}\n{OPEN}3{CLOSE}"


def test_of_runs_inside_only_the_tools_are_shown():
    view = TextView(markers=False)
    events = (
        ev.AnswerDelta("CHILD"), ev.AnswerDone("CHILD", "loop"),
        ev.ToolStarted(ADD, 1), ev.ToolDone("c1", "add", 1, "3"),
    )  # fmt: skip
    records = [ev.Record("run.c0", n, 0.0, event, "run", 0, 1) for n, event in enumerate(events)]
    assert "".join(piece for record in records for piece in view.feed(record)) == '\n  [add] {"a":1}\n  3\n'


def test_the_result_of_a_tool_that_is_the_answer_is_shown_as_the_answer():
    events = (ev.ToolStarted(ADD, 1), ev.ToolDone("c1", "add", 1, "3", final=True), ev.AnswerDone("3", "tool"))
    assert shown(*events) == '\n[add] {"a":1}\n3'


def test_after_a_reset_the_attempt_is_shown_from_its_beginning():
    first = (*stream("Half of"), ev.Reset("loop", 2))
    assert shown(*first, *stream("All of it"), thought("All of it", ADD)) == "Half of\nAll of it"


@pytest.mark.parametrize("markers", [True, False])
def test_the_answer_can_be_read_from_the_view(markers: bool):
    view = TextView(markers=markers)
    list(view.feed(ev.Record("run", 0, 0.0, ev.AnswerDone("42", "loop"))))
    assert view.answer == "42"
