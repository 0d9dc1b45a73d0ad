"""Detect characters that a model reads but a person does not see, or sees in another order.

Whoever accepts a text must be able to see all of it.
"""

from __future__ import annotations

import re

_HIDDEN = re.compile(r"[\U000e0000-\U000e007f\u202a-\u202e\u2066-\u2069]")
"""Tags, which spell out letters that no screen shows, and marks that turn the direction of a text around."""
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,10}\U000e007f")
"""The flags of England, Scotland and Wales are written with tags."""


def hidden_text(text: str) -> str:
    """Describe the first invisible character of a text; return an empty string if it has none."""
    match = _HIDDEN.search(_FLAG.sub(lambda flag: " " * len(flag[0]), text))
    if match is None:
        return ""
    line = text.count("\n", 0, match.start()) + 1
    return (
        f"line {line} has a character that nobody sees (U+{ord(match[0]):04X}): whoever accepts it must see all of it"
    )
