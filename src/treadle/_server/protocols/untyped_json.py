"""Untyped JSON of other protocols, as the engine takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from treadle._types.errors import ToolError


def fields_of(value: Any) -> dict[str, Any]:
    """Return a JSON object as it is; anything else has no fields."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def objects_of(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a JSON list."""
    return [fields_of(item) for item in cast("list[Any]", value)] if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """Return text as it is, a list of text parts as one text, anything else as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    parts = objects_of(value)
    if parts and all(part.get("type") == "text" for part in parts):
        return joined(parts)
    return msgspec.json.encode(value).decode()


def joined(parts: list[dict[str, Any]]) -> str:
    return "\n".join(str(part.get("text", "")) for part in parts)


def content_of_parts(parts: list[dict[str, Any]]) -> Any:
    """Join parts into one text where all are text."""
    return joined(parts) if all(part.get("type") == "text" for part in parts) else parts


def results_of(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the results of calls at the end of messages in the common form: those of the last reply's calls."""
    results: dict[str, Any] = {}
    for message in reversed(messages):
        if message.get("role") != "tool":
            break
        text = as_text(message.get("content"))
        failed = message.get("failed", False)
        results[str(message.get("tool_call_id") or "")] = ToolError(text or "it failed") if failed else text
    return results


def media(mime: str, *, data: Any = "", url: Any = "", name: Any = "") -> dict[str, Any]:
    """Make a part with an image, sound or a file."""
    kind = "image" if mime.startswith("image/") else "audio" if mime.startswith("audio/") else "file"
    return {"type": kind, "mime": mime, "data": str(data or ""), "url": str(url or ""), "name": str(name or "")}
