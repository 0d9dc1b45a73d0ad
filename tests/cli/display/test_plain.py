"""A run as plain text and as JSON lines."""

from __future__ import annotations

import io

from treadle._cli.display.plain import PlainDisplay
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, ToolCall

CALL = ToolCall("c1", "read", {"path": "a.txt"})


def feed(display: PlainDisplay, *events: ev.Event) -> None:
    for seq, event in enumerate(events):
        display.feed(ev.Record("r", seq, 1.0, event))


def test_steps_and_the_answer_go_to_different_streams():
    steps, answer = io.StringIO(), io.StringIO()
    feed(
        PlainDisplay("r", steps=steps, answer=answer),
        ev.ThinkDone("loop", 1, AssistantMessage(calls=(CALL,)), thought="First\nsecond"),
        ev.ToolDone("c1", "read", 1, "\n".join(map(str, range(9))), error="timeout", elapsed=2.0),
        ev.Injected(("i",), ("hurry",)),
        ev.AnswerDone("Done.", "loop"),
    )
    assert answer.getvalue() == "Done.\n"
    assert steps.getvalue().splitlines() == [
        "First",
        "second",
        "> read a.txt",
        *(f"  {number}" for number in range(6)),
        "  … 3 more lines",
        "  (timeout, 2.0 s)",
        "you: hurry",
    ]


def test_quiet_shows_no_steps_and_an_error_is_not_an_answer():
    answer = io.StringIO()
    feed(
        PlainDisplay("r", steps=None, answer=answer),
        ev.ThinkDone("loop", 1, AssistantMessage("x"), thought="hidden"),
        ev.AnswerDone("The model failed.", "error"),
    )
    assert answer.getvalue() == ""
