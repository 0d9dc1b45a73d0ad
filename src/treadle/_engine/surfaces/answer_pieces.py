"""The answer as text that cannot be taken back: for `deltas()`, and for clients of the chat-completions protocol."""

from __future__ import annotations

from collections.abc import Iterator

from treadle._types.events import AnswerDelta, AnswerDone, AnswerRetracted, Event, Reset

BREAK = "\n\n"
"""Stands after words that turned out not to be the answer."""


def missing(given: str, answer: str) -> str:
    """What has not been given of an answer; white space before it is not part of what was given."""
    words = answer.lstrip() if given else answer
    return words[len(given) :] if words.startswith(given) else answer


class AnswerPieces:
    """Feed it the events of one run, it gives text.

    What was given stays given: words before a call are followed by an empty line, and so is an answer that is begun
    anew. Without `provisional` nothing is given before it is known to be the answer; a `whole` one is given at its end.
    """

    def __init__(self, *, provisional: bool = True, whole: bool = False) -> None:
        self._provisional, self._whole = provisional, whole
        self._given = ""
        self._waiting = ""
        self._break = ""

    def feed(self, event: Event) -> Iterator[str]:
        match event:
            case AnswerDelta() if self._whole:
                pass
            case AnswerDelta(text=text, provisional=provisional):
                if provisional and not self._provisional:
                    self._waiting += text
                else:
                    yield self._more(self._waiting + text)
            case AnswerRetracted() | Reset():
                self._waiting = ""
                if self._given:
                    self._given, self._break = "", BREAK
            case AnswerDone(text=text):
                if rest := missing(self._given, text):
                    yield self._more(rest)
                self._given = ""
            case _:
                pass

    def _more(self, text: str) -> str:
        self._given, self._waiting = self._given + text, ""
        text, self._break = self._break + text, ""
        return text
