"""Watches replies that may only answer, and finds the words for a person in a reply that could not be read."""

from __future__ import annotations

from treadle._dialects.base import Dialect
from treadle._dialects.watching.base import Piece, Watcher
from treadle._dialects.watching.json_fields import JsonFields
from treadle._dialects.watching.prose import Manner, Prose

_STRUCTURED = "{[`<◁"
"""How a reply begins that is not plain words."""


class AnswerOnly:
    """Reads an answer in its dialect's form, or in plain words: when no tool may be called, models often drop it."""

    def __init__(self, form: Watcher) -> None:
        self._form = form
        self._chosen: Watcher | None = None

    def feed(self, text: str) -> list[Piece]:
        if self._chosen is None:
            head = text.lstrip()
            if not head:
                return []
            self._chosen = self._form if head[0] in _STRUCTURED else Prose(Manner(), tools=False)
        return self._chosen.feed(text)


def answer_watcher(dialect: Dialect) -> Watcher:
    """Return what reads a reply in which only an answer is wanted."""
    form = dialect.watch(tools=False)
    return AnswerOnly(form) if isinstance(form, JsonFields) else form


def words_in(dialect: Dialect, text: str) -> str:
    """Return what an unreadable reply says to a person: its prose, or as much of an answer as its form shows; never a
    call, nor the thought before one."""
    form = dialect.watch(tools=True)
    if isinstance(form, JsonFields) and text.lstrip()[:1] not in _STRUCTURED and "{" not in text:
        return text
    pieces = form.feed(text)
    if isinstance(form, JsonFields):
        return "".join(piece.text for piece in pieces if piece.answer)
    return "" if isinstance(form, Prose) and form.acts else text
