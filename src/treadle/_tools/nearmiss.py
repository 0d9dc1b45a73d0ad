"""A value that a tool refuses, beside one in its message that is nearly the same: the hint that lets a small model correct itself."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

_LONGEST = 80
_READ = 4_000
_MOST = 3
_TRIED = 8
"""Arguments: comparing takes time, and both sides come from outside."""
_ALIKE = 0.75
_BETWEEN = re.compile(r"[,;:|\"'`()\[\]{}\n]|\.(?:\s|$)|\b(?:or|and)\b")


def near_misses(args: Mapping[str, Any], message: str) -> str:
    """`Did you mean destination = "Lisbon"?` when the message names "Lisbon" and the call said "Lisboa"; else nothing."""
    asked = {
        name: value for name, value in args.items() if isinstance(value, str) and 2 < len(value.strip()) <= _LONGEST
    }
    if not asked or "did you mean" in message.casefold():
        return ""
    offered = {
        word.casefold(): word for part in _BETWEEN.split(message[:_READ]) if 2 < len(word := part.strip()) <= _LONGEST
    }
    found: list[str] = []
    for name, value in islice(asked.items(), _TRIED):
        said = value.strip().casefold()
        near = difflib.get_close_matches(said, [word for word in offered if word != said], 1, _ALIKE)
        if near:
            found.append(f'{name} = "{offered[near[0]]}"')
    return f"Did you mean {', '.join(found[:_MOST])}?" if found else ""
