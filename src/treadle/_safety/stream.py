"""Removes secrets from a text that arrives in pieces, wherever it is cut."""

from __future__ import annotations

from treadle._safety.key_shapes import LONGEST_OPEN, is_whole_key
from treadle._safety.redact import Redactor

_SHORT = 200
"""Nearly every piece of a stream is shorter, and nearly every one is plain: those are looked at once."""


class StreamRedactor:
    """One text. What may be the beginning of a secret is held back until more of it shows what it is."""

    __slots__ = ("_before", "_held", "_redactor")

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""
        self._before = ""
        """Stands for what was shown last; see `_standing_for`."""

    @property
    def holds(self) -> bool:
        return bool(self._held)

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        known = len(self._before)
        text = f"{self._before}{self._held}{piece}"
        if len(text) < _SHORT and self._redactor.is_plain(text):
            self._held = ""
            self._before = self._standing_for(text)
            return text[known:]
        start = max(self._redactor.open_from(text), known)
        held = text[start:]
        if len(held) > LONGEST_OPEN and len(held) > self._redactor.longest:
            if is_whole_key(held):
                held = held[: LONGEST_OPEN // 2]  # it is one already, and stays one without the rest
            else:
                start, held = len(text), ""
        self._held = held
        return self._shown(text[:start], known) if start > known else ""

    def flush(self) -> str:
        """What was held back: the text ends here."""
        text, known = self._before + self._held, len(self._before)
        self._held = ""
        return self._shown(text, known) if len(text) > known else ""

    def _shown(self, text: str, known: int) -> str:
        clean = self._redactor.text(text)
        self._before = self._standing_for(clean)
        return clean[known:] if known else clean

    def _standing_for(self, shown: str) -> str:
        """What stands for the end of what was shown: a letter for a letter, and an escaped line end for one of those,
        because no key begins in the middle of a word, but one may begin there."""
        last = shown[-1:]
        if last == "\\":
            return last
        if not (last.isascii() and last.isalnum()):
            return ""
        return self._redactor.neutral_escape if shown[-2:-1] == "\\" else self._redactor.neutral
