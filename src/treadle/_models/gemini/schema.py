"""Converts JSON Schema to the part of it that Gemini supports."""

from __future__ import annotations

from typing import Any

from treadle._models.transport.wire import as_dict, as_list, encode

MAX_REFERENCES = 32
MAX_NODES = 5_000
"""A schema that grows beyond this when its references are expanded is hostile; the rest of it allows anything."""
_COPIED = (
    "title",
    "description",
    "format",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "minProperties",
    "maxProperties",
)
_FORMATS = frozenset(("float", "double", "int32", "int64", "date-time", "enum"))


def gemini_schema(schema: Any) -> dict[str, Any]:
    """References are expanded, null becomes `nullable`, unsupported keywords move into the description."""
    root = as_dict(schema)
    return _Converter(root).convert(root, frozenset())


class _Converter:
    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def convert(self, schema: dict[str, Any], above: frozenset[str]) -> dict[str, Any]:
        """`above` are the references this schema is inside of: one that leads back to itself ends there."""
        self._nodes += 1
        schema, followed = self._resolved(schema)
        if self._nodes > MAX_NODES or followed & above:
            return {}
        above |= followed
        written = {key: schema[key] for key in _COPIED if key in schema}
        if written.get("format") not in _FORMATS:
            written.pop("format", None)
        for key in ("exclusiveMinimum", "exclusiveMaximum", "multipleOf"):
            if key in schema:
                _note(written, f"{key}: {schema[key]}")
        _type(schema, written)
        _enum(schema, written)
        self._alternatives(schema, written, above)
        if "properties" in schema:
            properties = as_dict(schema["properties"])
            written["properties"] = {name: self.convert(as_dict(inner), above) for name, inner in properties.items()}
            written.setdefault("type", "object")
            if required := [name for name in as_list(schema.get("required")) if name in properties]:
                written["required"] = required
        if written.get("type") == "array":
            written["items"] = self.convert(as_dict(schema.get("items")), above)
        return written

    def _resolved(self, schema: dict[str, Any]) -> tuple[dict[str, Any], frozenset[str]]:
        """The schema with its reference and its `allOf` expanded, and the references that were followed."""
        followed: set[str] = set()
        while (
            isinstance(reference := schema.get("$ref"), str)
            and reference not in followed
            and len(followed) < MAX_REFERENCES
        ):
            followed.add(reference)
            schema = {**self._target(reference), **{key: value for key, value in schema.items() if key != "$ref"}}
        for part in as_list(schema.get("allOf")):
            # Only one level: an `allOf` inside an `allOf` is too rare to be worth more code.
            inner = as_dict(part)
            inner = self._target(inner["$ref"]) if isinstance(inner.get("$ref"), str) else inner
            properties = as_dict(schema.get("properties")) | as_dict(inner.get("properties"))
            required = [*as_list(schema.get("required")), *as_list(inner.get("required"))]
            schema = {**inner, **schema}
            if properties:
                schema["properties"] = properties
            if required:
                schema["required"] = list(dict.fromkeys(required))
        return schema, frozenset(followed)

    def _target(self, reference: str) -> dict[str, Any]:
        target: Any = self._root
        for step in reference.removeprefix("#").strip("/").split("/"):
            target = as_dict(target).get(step.replace("~1", "/").replace("~0", "~")) if step else target
        return as_dict(target)

    def _alternatives(self, schema: dict[str, Any], written: dict[str, Any], above: frozenset[str]) -> None:
        options = [as_dict(option) for option in as_list(schema.get("anyOf") or schema.get("oneOf"))]
        if any(option.get("type") == "null" for option in options):
            written["nullable"] = True
            options = [option for option in options if option.get("type") != "null"]
        converted = [self.convert(option, above) for option in options]
        if len(converted) == 1:
            for key, value in converted[0].items():
                written.setdefault(key, value)
        elif converted:
            written["anyOf"] = converted


def _type(schema: dict[str, Any], written: dict[str, Any]) -> None:
    kinds = as_list(schema.get("type")) or [schema.get("type")]
    if "null" in kinds:
        written["nullable"] = True
    kinds = [kind for kind in kinds if isinstance(kind, str) and kind != "null"]
    if len(kinds) == 1:
        written["type"] = kinds[0]
    elif kinds:
        written["anyOf"] = [{"type": kind} for kind in kinds]


def _enum(schema: dict[str, Any], written: dict[str, Any]) -> None:
    values = as_list(schema.get("enum")) or ([schema["const"]] if "const" in schema else [])
    if None in values:
        written["nullable"] = True
        values = [value for value in values if value is not None]
    if values and all(isinstance(value, str) for value in values):
        written["enum"] = values
        written.setdefault("type", "string")
    elif values:  # only strings can be enumerated
        _note(written, f"one of {encode(values).decode()}")


def _note(written: dict[str, Any], text: str) -> None:
    written["description"] = f"{written.get('description', '')} ({text})".strip()
