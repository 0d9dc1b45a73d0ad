"""A text that a regular expression matches: what a schema with a `pattern` is tested with."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

_parser: Any = import_module("re._parser")
_constants: Any = import_module("re._constants")
_PLAIN = "aA0 _-.,:/@#é"
"""Characters to try for "any" and "none of these"."""
_SIGNS = {"digit": r"\d", "word": r"\w", "space": r"\s", "not_digit": r"\D", "not_word": r"\W", "not_space": r"\S"}
_CATEGORIES = {"digit": "0", "word": "a", "space": " ", "not_digit": "a", "not_word": "-", "not_space": "a"}


def text_for_pattern(pattern: str, shortest: int = 0) -> str:
    """A text of at least `shortest` characters in which the pattern is found; empty if none was found out."""
    try:
        tree: Any = _parser.parse(pattern)
    except (re.error, RecursionError):
        return ""
    for more in (0, 1, 2, shortest, shortest + 1):
        text = _written(tree, more, {})
        grown = text if len(text) >= shortest else text.ljust(shortest, text[-1:] or "a")
        for candidate in (text, grown):
            if len(candidate) >= shortest and re.search(pattern, candidate):
                return candidate
    return ""


def _written(tree: Any, more: int, groups: dict[int, str]) -> str:
    return "".join(_piece(str(kind).lower(), value, more, groups) for kind, value in tree)


def _piece(kind: str, value: Any, more: int, groups: dict[int, str]) -> str:
    match kind:
        case "literal":
            return chr(value)
        case "not_literal":
            return next(char for char in _PLAIN if char != chr(value))
        case "any":
            return "a"
        case "in":
            return _one_of(value)
        case "branch":
            return _written(value[1][0], more, groups)
        case "subpattern":
            text = _written(value[-1], more, groups)
            groups[value[0] or 0] = text
            return text
        case "groupref":
            return groups.get(value, "")
        case "max_repeat" | "min_repeat" | "possessive_repeat":
            low, high, inner = value
            most = more if high is _constants.MAXREPEAT else high
            return "".join(_written(inner, more, groups) for _ in range(max(low, min(more, most))))
        case "atomic_group":
            return _written(value, more, groups)
        case "assert":
            return _written(value[1], more, groups) if value[0] > 0 else ""
        case _:  # where it is found: `^`, `$`, a boundary
            return ""


def _one_of(choices: Any) -> str:
    if str(choices[0][0]).lower() == "negate":
        return next((char for char in _PLAIN if not _is_in(char, choices[1:])), "")
    kind, value = str(choices[0][0]).lower(), choices[0][1]
    if kind == "literal":
        return chr(value)
    if kind == "range":
        return chr(value[0])
    return _CATEGORIES.get(str(value).lower().removeprefix("category_"), "a")


def _is_in(char: str, choices: Any) -> bool:
    for kind, value in choices:
        name = str(kind).lower()
        if name == "literal" and char == chr(value):
            return True
        if name == "range" and value[0] <= ord(char) <= value[1]:
            return True
        if name == "category" and re.match(_SIGNS[str(value).lower().removeprefix("category_")], char):
            return True
    return False
