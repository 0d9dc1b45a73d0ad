"""Texts that a database cannot hold as they are: NUL in Postgres, halves of surrogate pairs in any.

Ids, names and notes come from outside. What one journal stores and finds, every journal does: such a character is
written as a noncharacter of Unicode and its number, and read back as what it was.
"""

from __future__ import annotations

import re

_ESCAPE = "\ufdd0"
_UNSTORABLE = re.compile(f"[\0\ud800-\udfff{_ESCAPE}]")
_STORED = re.compile(f"{_ESCAPE}([0-9a-f]{{4}})")


def storable(text: str) -> str:
    """The text with nothing in it that a database refuses."""
    if text.isascii() and "\0" not in text:  # nearly all: a long one is not looked through
        return text
    return _UNSTORABLE.sub(lambda match: f"{_ESCAPE}{ord(match[0]):04x}", text)


def restored(text: str) -> str:
    """The text that was made storable."""
    return _STORED.sub(lambda match: chr(int(match[1], 16)), text) if _ESCAPE in text else text


def read_text(data: bytes) -> str:
    """A text of a database file; what is damaged in it is replaced, so that the rest can be read."""
    return restored(data.decode(errors="replace"))
