"""Rewrite every text inside a nested value: redaction and masking use it on all that enters a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct

from treadle._types.messages import MediaPart
from treadle._types.usage import Artifact

T = TypeVar("T")
Unchanged = Callable[[Struct], str | frozenset[str]]
"""Returns the fields of a struct that stay as they are: one, or several."""


def rewritten(value: T, text: Callable[[str], str], unchanged: Unchanged) -> T:
    """Apply `text` to every text of a string, a struct, or lists, tuples and dicts of such.

    The same object is returned if nothing changes.
    """
    return cast(T, _walk(value, text, unchanged))


def size_of(value: Any) -> int:
    """Return how many characters all texts in a value have."""
    sizes: list[int] = []

    def look(text: str) -> str:
        sizes.append(len(text))
        return text

    rewritten(value, look, binary_field)
    return sum(sizes)


def binary_field(value: Struct) -> str:
    """Return the field that holds a file as base64.

    It is not text: replacing something that looks like a secret in it would break the file.
    """
    if isinstance(value, MediaPart):
        return "data"
    return "content" if isinstance(value, Artifact) and value.base64 else ""


def _walk(value: Any, text: Callable[[str], str], unchanged: Unchanged) -> Any:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Struct):
        return _walk_struct(value, text, unchanged)
    if isinstance(value, dict):
        return _walk_dict(cast(dict[Any, Any], value), text, unchanged)
    if isinstance(value, (list, tuple)):
        items = cast(list[Any] | tuple[Any, ...], value)
        walked = [_walk(item, text, unchanged) for item in items]
        if all(a is b for a, b in zip(walked, items, strict=True)):
            return items
        return tuple(walked) if isinstance(items, tuple) else walked
    return value


def _walk_dict(value: dict[Any, Any], text: Callable[[str], str], unchanged: Unchanged) -> dict[Any, Any]:
    walked: dict[Any, Any] = {}
    same = True
    for old_key, old in value.items():
        key, new = _walk(old_key, text, unchanged), _walk(old, text, unchanged)
        walked[key] = new
        same = same and key is old_key and new is old
    return value if same else walked


def _walk_struct(value: Struct, text: Callable[[str], str], unchanged: Unchanged) -> Struct:
    changed: dict[str, Any] = {}
    fixed = unchanged(value)
    for name in value.__struct_fields__:
        if name == fixed or (not isinstance(fixed, str) and name in fixed):
            continue
        old = getattr(value, name)
        new = _walk(old, text, unchanged)
        if new is not old:
            changed[name] = new
    return msgspec.structs.replace(value, **changed) if changed else value
