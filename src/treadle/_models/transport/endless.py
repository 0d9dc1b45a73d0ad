"""Replies without an end: a small model that has to write a value which it does not know may repeat itself for ever."""

from __future__ import annotations

_CHARS = 160
"""As long as what is repeated has to be. A shorter row of the same letters may be meant."""
_LONGEST = 16
"""Of what is repeated."""


class EndlessText:
    """Sees a text as it is written, and tells when it only repeats itself. Lines that are drawn, blanks and empty rows
    repeat themselves as well, and end: only letters and digits count."""

    def __init__(self) -> None:
        self.found = False
        self._tail = ""

    def feed(self, piece: str) -> None:
        self._tail = (self._tail + piece)[-_CHARS:]
        self.found = self.found or is_endless(self._tail)


def is_endless(text: str) -> bool:
    """Whether a text ends in nothing but repetitions."""
    tail = text[-_CHARS:]
    return len(tail) == _CHARS and any(_repeats(tail, size) for size in range(1, _LONGEST + 1))


def _repeats(tail: str, size: int) -> bool:
    return (
        tail[-1] == tail[-1 - size] and tail[size:] == tail[:-size] and any(letter.isalnum() for letter in tail[-size:])
    )
