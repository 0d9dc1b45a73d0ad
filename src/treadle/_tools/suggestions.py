"""Hints for correcting a refused argument: the value in the error message that looks most like it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

_MAX_VALUE_CHARS = 80
_MAX_MESSAGE_CHARS = 4_000
_MAX_HINTS = 3
_MAX_ARGUMENTS = 8
"""Comparing takes time, and both the arguments and the message come from outside."""
_MIN_SIMILARITY = 0.75
_SEPARATOR = re.compile(r"[,;:|\"'`()\[\]{}\n]|\.(?:\s|$)|\b(?:or|and)\b")


def did_you_mean(args: Mapping[str, Any], message: str) -> str:
    """`Did you mean destination = "Lisbon"?` when the message names "Lisbon" and the call said "Lisboa"; else "".

    Many models do not see on their own that a value in the error message is the one they meant.
    """
    values = {
        name: value
        for name, value in args.items()
        if isinstance(value, str) and 2 < len(value.strip()) <= _MAX_VALUE_CHARS
    }
    if not values or "did you mean" in message.casefold():
        return ""
    candidates = {
        text.casefold(): text
        for part in _SEPARATOR.split(message[:_MAX_MESSAGE_CHARS])
        if 2 < len(text := part.strip()) <= _MAX_VALUE_CHARS
    }
    hints: list[str] = []
    for name, value in islice(values.items(), _MAX_ARGUMENTS):
        argument = value.strip().casefold()
        others = [
            candidate
            for candidate in candidates
            if candidate != argument and not _echo(candidates, candidate, argument)
        ]
        if matches := difflib.get_close_matches(argument, others, 1, _MIN_SIMILARITY):
            hints.append(f'{name} = "{candidates[matches[0]]}"')
    return f"Did you mean {', '.join(hints[:_MAX_HINTS])}?" if hints else ""


def _echo(candidates: Mapping[str, str], candidate: str, argument: str) -> bool:
    """Tell whether a candidate only repeats the refused value after other words: "no file or folder notes.txt"."""
    before = candidates[candidate][: -len(argument)]
    return candidate.endswith(f" {argument}") and before.islower() and argument not in candidates
