"""A plain value that fits a JSON Schema: what a test calls a tool with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

_FORMATS = {
    "date": "2024-01-31",
    "date-time": "2024-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "PT1H",
    "email": "someone@example.org",
    "uri": "https://example.org/",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "192.0.2.1",
    "hostname": "example.org",
}
_MAX_DEPTH = 20


def example_value(schema: Mapping[str, Any]) -> Any:
    """The smallest plain value that fits: required properties only, the first of several choices."""
    return _value(schema, schema, 0)


def _value(schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:  # `true`, or a type that contains itself
        return None
    schema = _resolved(cast("Mapping[str, Any]", schema), root)
    if "const" in schema:
        return schema["const"]
    if "default" in schema:
        return schema["default"]
    for choices in ("enum", "examples"):
        if schema.get(choices):
            return schema[choices][0]
    if options := schema.get("anyOf") or schema.get("oneOf"):
        first = next((option for option in options if option.get("type") != "null"), options[0])
        return _value(first, root, depth + 1)
    kind: Any = schema.get("type")
    if isinstance(kind, list):
        kind = next((name for name in cast("list[str]", kind) if name != "null"), "null")
    match kind or ("object" if "properties" in schema else "string"):
        case "object":
            properties: Mapping[str, Any] = schema.get("properties", {})
            return {name: _value(properties.get(name, {}), root, depth + 1) for name in schema.get("required", ())}
        case "array":
            fixed: list[Any] = schema.get("prefixItems", [])
            count = max(int(schema.get("minItems", 0)), len(fixed))
            items = [*fixed, *[schema.get("items", {})] * (count - len(fixed))]
            return [_value(item, root, depth + 1) for item in items]
        case "integer" | "number":
            return _number(schema, whole=kind == "integer")
        case "boolean":
            return False
        case "null":
            return None
        case _:
            text = _FORMATS.get(schema.get("format", ""), "a")
            return text.ljust(int(schema.get("minLength", 0)), "a")[: schema.get("maxLength")]


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without `$ref` and `allOf` at the top."""
    for _ in range(_MAX_DEPTH):
        target = schema.get("$ref")
        if not isinstance(target, str):
            break
        found: Any = root
        for part in target.removeprefix("#").strip("/").split("/"):
            found = found.get(part, {}) if part else found
        schema = {**found, **{name: value for name, value in schema.items() if name != "$ref"}}
    for part in schema.get("allOf", ()):
        schema = {**schema, **_resolved(part, root)}
    return schema


def _number(schema: Mapping[str, Any], *, whole: bool) -> int | float:
    low = max(schema.get("minimum", -math.inf), schema.get("exclusiveMinimum", -math.inf))
    high = min(schema.get("maximum", math.inf), schema.get("exclusiveMaximum", math.inf))
    step: float = schema.get("multipleOf", 1 if whole else 0)
    value: float = 1 if low <= 1 <= high else low if low > 1 else high
    if step:
        value = math.ceil(value / step) * step if value >= low or not math.isfinite(high) else value
        value = value if value <= high else math.floor(high / step) * step
    if value in (schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")):
        small = step or (high - low) / 2 if math.isfinite(high - low) else 1
        value += small if value == schema.get("exclusiveMinimum") else -small
    return int(value) if whole else value
