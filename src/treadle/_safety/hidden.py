"""Characters that a model reads and a person does not see, or sees in another order: who accepts a text must see it."""

from __future__ import annotations

import re

_HIDDEN = re.compile(r"[\U000e0000-\U000e007f\u202a-\u202e\u2066-\u2069]")
"""Tags, which spell out letters that no screen shows, and marks that turn the direction of a text around."""
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,10}\U000e007f")
"""The flags of England, Scotland and Wales are written with tags."""


def hidden_text(text: str) -> str:
    """Where a text has characters that nobody sees, in words; empty if it has none."""
    found = _HIDDEN.search(_FLAG.sub(lambda flag: " " * len(flag[0]), text))
    if found is None:
        return ""
    line = text.count("\n", 0, found.start()) + 1
    return (
        f"line {line} has a character that nobody sees (U+{ord(found[0]):04X}): whoever accepts it must see all of it"
    )
