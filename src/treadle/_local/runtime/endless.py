"""Replies without an end: a small model that has to write a value which it does not know may repeat itself for ever."""

from __future__ import annotations

_CHARS = 160
"""As long as what is repeated has to be. A shorter row of the same letters may be meant."""
_LONGEST = 16
"""Of what is repeated."""


_PARTED = frozenset(',[]{}"\\')
"""Signs between values, and of those that JSON writes otherwise: what repeats itself with them is a list, or lines."""


class EndlessText:
    """Sees a reply in JSON as it is written, and tells when a value in it only repeats itself. Rows of numbers, empty
    lines and lines that are drawn repeat themselves as well, and end: they do not count."""

    def __init__(self) -> None:
        self.detected = False
        self._tail = ""

    def feed(self, piece: str) -> None:
        self._tail = (self._tail + piece)[-_CHARS:]
        self.detected = self.detected or is_endless(self._tail)


def is_endless(text: str) -> bool:
    """Tell whether a reply in JSON ends in nothing but repetitions."""
    tail = text[-_CHARS:]
    return len(tail) == _CHARS and any(_repeats(tail, size) for size in range(1, _LONGEST + 1))


def _repeats(tail: str, size: int) -> bool:
    if tail[-1] != tail[-1 - size] or tail[size:] != tail[:-size]:
        return False
    unit = tail[-size:]
    return _PARTED.isdisjoint(unit) and any(map(str.isalnum, unit))
