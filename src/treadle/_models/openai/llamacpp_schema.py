"""JSON schemas as llama.cpp can enforce them, in process and as a server."""

from __future__ import annotations

import re
from typing import Any, cast

_LOOK_AROUND = re.compile(r"\(\?[^:]|\\[1-9]|\\k<")


def plain_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema for the constraint engine that every build has."""
    plain = cast("dict[str, Any]", enforceable(schema))
    return {key: value for key, value in plain.items() if key != "x-guidance"}


def enforceable(node: Any, names: bool = False) -> Any:
    """A schema without what the constraint engine cannot compile: look-around in patterns, external references."""
    if isinstance(node, list):
        return [enforceable(item) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    fields = cast("dict[str, Any]", node)
    if names:  # keys are the names of properties here, not keywords
        return {key: enforceable(value) for key, value in fields.items()}
    copied: dict[str, Any] = {}
    for key, value in fields.items():
        if key in ("const", "enum", "default", "examples"):
            copied[key] = value
        elif isinstance(value, str) and (
            (key == "pattern" and _LOOK_AROUND.search(value)) or (key == "$ref" and value[:1] != "#")
        ):
            continue
        else:
            copied[key] = enforceable(value, names=key in ("properties", "$defs", "definitions", "patternProperties"))
    return copied
