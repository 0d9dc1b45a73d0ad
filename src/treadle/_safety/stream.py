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
        """Add a piece and return the text that can be shown now."""
        shown_length = len(self._before)
        text = f"{self._before}{self._held}{piece}"
        if len(text) < _SHORT and self._redactor.is_plain(text):
            self._held = ""
            self._before = self._standing_for(text)
            return text[shown_length:]
        start = max(self._redactor.open_from(text), shown_length)
        held = text[start:]
        if len(held) > LONGEST_OPEN and len(held) > self._redactor.longest:
            if is_whole_key(held):
                held = held[: LONGEST_OPEN // 2]  # it is one already, and stays one without the rest
            else:
                start, held = len(text), ""
        self._held = held
        return self._shown(text[:start], shown_length) if start > shown_length else ""

    def flush(self) -> str:
        """Return the text that was held back: the stream ends here."""
        text, shown_length = self._before + self._held, len(self._before)
        self._held = ""
        return self._shown(text, shown_length) if len(text) > shown_length else ""

    def _shown(self, text: str, shown_length: int) -> str:
        clean = self._redactor.text(text)
        self._before = self._standing_for(clean)
        return clean[shown_length:] if shown_length else clean

    def _standing_for(self, shown: str) -> str:
        """Return a harmless stand-in for the end of the shown text, to tell whether the next piece can begin a key.

        No key begins in the middle of a word, so a letter stands for a letter; one may begin after an escaped line
        end, so that is kept as one.
        """
        last = shown[-1:]
        if last == "\\":
            return last
        if not (last.isascii() and last.isalnum()):
            return ""
        return self._redactor.neutral_escape if shown[-2:-1] == "\\" else self._redactor.neutral
