"""The answer as text that cannot be taken back: for `deltas()`, and for clients of the chat-completions protocol."""

from __future__ import annotations

from collections.abc import Iterator

from treadle._types.events import Record
from treadle._view.fold import ANSWER, RunView
from treadle._view.items import Answer, More, Thought

BREAK = "\n\n"
"""Stands after words that turned out not to be the answer."""


def missing(given: str, answer: str) -> str:
    """Return what has not been given of an answer; white space before it is not part of what was given."""
    words = answer.lstrip() if given else answer
    return words[len(given) :] if words.startswith(given) else answer


class AnswerPieces:
    """Feed it the records of one run, it gives text.

    What was given stays given: words before a call are followed by an empty line, and so is an answer that is begun
    anew. Without `provisional`, and of a reply that repairs another one, nothing is given before it is known to be the
    answer; a `whole` one is given at its end.
    """

    def __init__(self, *, provisional: bool = True, whole: bool = False) -> None:
        self._provisional, self._whole = provisional, whole
        self._view = RunView()
        self._given = ""
        self._taken_back = ""
        """The words given last that were not the answer then: they are, when a repair says the same."""
        self._repairs = False
        self._waiting = ""
        self._break = ""

    def feed(self, record: Record) -> Iterator[str]:
        for change in self._view.feed(record):
            if isinstance(change, More):
                if change.id == ANSWER and not self._whole:
                    yield from self._piece(change.text)
                continue
            if isinstance(change.item, Thought) and change.item.state == "open":
                self._repairs = change.item.component == "repair"
            if not isinstance(answer := change.item, Answer):
                continue
            if answer.state in ("retracted", "void"):
                self._waiting = ""
                if self._given:
                    self._given, self._taken_back, self._break = "", self._given, BREAK
            elif answer.state == "final":
                same = not self._given and self._repairs and self._taken_back.strip() == answer.text.strip()
                if not same and (rest := missing(self._given, answer.text)):
                    yield self._more(rest)
                self._given = ""

    def _piece(self, text: str) -> Iterator[str]:
        answer = self._view.answer
        if answer is not None and answer.state == "draft" and (self._repairs or not self._provisional):
            self._waiting += text
        else:
            yield self._more(self._waiting + text)

    def _more(self, text: str) -> str:
        self._given, self._waiting = self._given + text, ""
        text, self._break = self._break + text, ""
        return text
