"""The interface of what watches a reply while it is written, and the shape of what it finds.

A watcher gives the words of a reply that a person may read at once: those of an answer, and those of a thought. It may
be wrong: a dialect's `decode` reads the complete reply and decides. So a watcher never finds a call, an argument or a
problem; when in doubt it keeps quiet until the reply is complete.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Piece(NamedTuple):
    """Some words of a reply."""

    text: str
    answer: bool = True
    """Words of an answer; else of a thought."""
    provisional: bool = True
    """They may still turn out to be a thought before a call."""
    begins: bool = False
    """The answer begins here: what was given as the answer before was a thought."""


class Watcher(Protocol):
    """Reads one reply, from its first word to its last."""

    def feed(self, text: str) -> list[Piece]:
        """The words that can be shown now that `text` has come."""
        ...


class Everything:
    """Watches a reply that is nothing but an answer, or nothing but a thought."""

    def __init__(self, *, answer: bool) -> None:
        self._answer = answer

    def feed(self, text: str) -> list[Piece]:
        return [Piece(text, self._answer, provisional=False)]
