"""Text that cannot be taken back: the answer once, words before a call apart from it."""

from __future__ import annotations

from typing import Any

from treadle._engine.surfaces.answer_pieces import AnswerPieces
from treadle._types import events as ev


def given(*events: Any, provisional: bool = True) -> str:
    pieces = AnswerPieces(provisional=provisional)
    records = [ev.Record("run", seq, 0.0, event) for seq, event in enumerate(events)]
    return "".join(text for record in records for text in pieces.feed(record))


def test_an_answer_that_begins_anew_is_apart_too():
    assert (
        given(ev.AnswerDelta("Three"), ev.Reset("x", 2), ev.AnswerDelta("3"), ev.AnswerDone("3", "x")) == "Three\n\n3"
    )


def test_what_waited_is_given_when_it_is_known():
    events = (ev.AnswerDelta("4", True), ev.AnswerDelta("2", True), ev.AnswerDone("42", "loop"))
    assert given(*events, provisional=False) == "42"
    assert given(ev.AnswerDelta("4", True), ev.AnswerDelta("2"), provisional=False) == "42"
