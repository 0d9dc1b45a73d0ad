"""What streams as the answer is shown once, and what was wrong is taken back."""

from __future__ import annotations

import asyncio
from typing import Any

from treadle._engine.core.answer_stream import AnswerStream
from treadle._engine.core.log import Log
from treadle._engine.core.redaction import event_redactor
from treadle._types import events as ev


def watched(*secrets: str) -> tuple[AnswerStream, list[Any]]:
    log, seen = Log("run", redact=event_redactor(secrets) if secrets else None), []
    log.subscribe(lambda record: seen.append(record.event))
    return AnswerStream(log), seen


def test_nothing_is_kept_for_nobody():
    stream = AnswerStream(Log("run"))
    stream.add("text")
    assert stream.text == ""


def test_white_space_around_an_answer_is_not_shown():
    stream, seen = watched()
    for text in (" \n", "It", " is ", "3.", "\n\n"):
        stream.add(text, provisional=True)
    asyncio.run(stream.settle("It is 3.", "loop"))
    assert "".join(event.text for event in seen) == "It is 3."
    assert all(event.provisional for event in seen)


def test_at_the_end_only_the_rest_is_shown():
    stream, seen = watched()
    stream.add("It is")
    asyncio.run(stream.settle("It is 3.", "loop"))
    assert seen == [ev.AnswerDelta("It is"), ev.AnswerDelta(" 3.")]


def test_another_answer_takes_the_place_of_what_was_shown():
    stream, seen = watched()
    stream.add("Three")
    asyncio.run(stream.settle("3", "loop"))
    assert seen == [ev.AnswerDelta("Three"), ev.Reset("loop", 1), ev.AnswerDelta("3")]


def test_a_thought_is_retracted_once():
    stream, seen = watched()
    stream.add("Let me see.", provisional=True)
    stream.retract()
    stream.retract()
    assert seen[1:] == [ev.AnswerRetracted("Let me see.")]
    assert stream.text == ""


def test_an_answer_with_a_secret_is_shown_once():
    stream, seen = watched("hunter2-not-for-you")
    for text in ("The word is hun", "ter2-not", "-for-you."):
        stream.add(text, provisional=True)
    asyncio.run(stream.settle("The word is [redacted:secret].", "loop"))  # as it is in the log
    stream.retract()
    assert "".join(event.text for event in seen[:-1]) == "The word is [redacted:secret]."
    assert seen[-1] == ev.AnswerRetracted("The word is [redacted:secret].")
