"""A run as plain text and as JSON lines."""

from __future__ import annotations

import asyncio
import io

from treadle._cli.display.notice import AGAIN_SECONDS
from treadle._cli.display.plain import PlainDisplay
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, ToolCall
from virtual_time import go_virtual

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


def test_a_silent_model_is_told_from_time_to_time():
    steps = io.StringIO()

    async def think() -> None:
        display = PlainDisplay("r", steps=steps, answer=None)
        feed(display, ev.ThinkStarted("loop", 2))
        await asyncio.sleep(2.5 * AGAIN_SECONDS)
        feed(display, ev.Injected(("i",), ("hurry",)))
        await asyncio.sleep(0.7 * AGAIN_SECONDS)
        display.close()
        await asyncio.sleep(5 * AGAIN_SECONDS)

    go_virtual(think())
    lines = steps.getvalue().splitlines()
    assert [line.rpartition(",")[0] for line in lines] == ["… thinking, step 2", "… thinking, step 2", ""]
    assert lines[2] == "you: hurry", "and nothing while something is shown, or when it is over"
