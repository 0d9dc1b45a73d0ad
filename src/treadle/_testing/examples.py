"""A plain value that fits a JSON Schema: what a test calls a tool with."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import unquote

import jsonschema_rs

from treadle._testing.patterns import text_for_pattern

_FORMATS = {
    "date": "2024-01-31",
    "date-time": "2024-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "PT1H",
    "email": "someone@example.org",
    "uri": "https://example.org/",
    "iri": "https://example.org/",
    "uri-reference": "/a",
    "iri-reference": "/a",
    "idn-email": "someone@example.org",
    "idn-hostname": "example.org",
    "ipv6": "2001:db8::1",
    "json-pointer": "/a",
    "relative-json-pointer": "0",
    "uri-template": "https://example.org/{id}",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "192.0.2.1",
    "hostname": "example.org",
}
_MAX_DEPTH = 20


def example_value(schema: Mapping[str, Any]) -> Any:
    """A small plain value that fits: required properties only, the first of several choices that does."""
    return _value(schema, schema, 0)


def _value(schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:  # `true`, or a type that contains itself
        return None
    schema = _resolved(cast("Mapping[str, Any]", schema), root)
    first: list[Any] = []
    for candidate in _candidates(schema, root, depth):
        if _fits(candidate, schema, root):
            return candidate
        first = first or [candidate]
    return first[0] if first else None


def _candidates(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Iterator[Any]:
    """Values to try, the likeliest first."""
    if "const" in schema:
        yield schema["const"]
        return
    if "default" in schema:
        yield schema["default"]
    for choices in ("enum", "examples"):
        yield from schema.get(choices) or ()
    if options := schema.get("anyOf") or schema.get("oneOf"):
        rest = {name: value for name, value in schema.items() if name not in ("anyOf", "oneOf", "$defs")}
        for option in sorted(options, key=lambda option: option.get("type") == "null"):
            yield _value(_joined(rest, _resolved(option, root)), root, depth + 1)
    kinds: Any = schema.get("type") or ("object" if "properties" in schema or "required" in schema else "string")
    several: list[str] = cast("list[str]", kinds) if isinstance(kinds, list) else [kinds]
    for kind in sorted(several, key=lambda kind: kind == "null"):
        yield from _of_type(kind, schema, root, depth)
    if "not" in schema:
        yield from ("a", 1, True, None, [], {})
    if options:  # what fits no option alone may be one of several
        yield from ("aaaaaa", "", 1.5, 1)


def _of_type(kind: str, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Iterator[Any]:
    match kind:
        case "object":
            yield _object(schema, root, depth)
        case "array":
            yield _array(schema, root, depth)
        case "integer" | "number":
            yield _number(schema, whole=kind == "integer")
        case "boolean":
            yield False
            yield True
        case "null":
            yield None
        case _:
            yield from _texts(schema)


def _texts(schema: Mapping[str, Any]) -> Iterator[str]:
    shortest = int(schema.get("minLength", 0))
    if pattern := schema.get("pattern"):
        yield text_for_pattern(str(pattern), shortest)
    text = _FORMATS.get(schema.get("format", ""), "a")
    yield text.ljust(shortest, "a")[: schema.get("maxLength")]


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    then = schema.get("then")
    if isinstance(then, Mapping) and "if" in schema:
        plain = {name: value for name, value in schema.items() if name not in ("if", "then", "else")}
        if _fits(_object(plain, root, depth + 1), {**schema["if"]}, root):
            schema = _joined(plain, cast("Mapping[str, Any]", then))
    properties: Mapping[str, Any] = schema.get("properties", {})
    others: Any = schema.get("additionalProperties", {})
    rest: Any = {} if isinstance(others, bool) else others
    names = list(dict.fromkeys(schema.get("required", ())))
    for name, needed in schema.get("dependentRequired", {}).items():
        names += [other for other in needed if name in names and other not in names]
    spare = (name for name in (*properties, *(f"key{n}" for n in range(100))) if name not in names)
    while len(names) < int(schema.get("minProperties", 0)):
        names.append(next(spare))

    def shape(name: str) -> Any:
        signs: Mapping[str, Any] = schema.get("patternProperties", {})
        fitting = [part for sign, part in signs.items() if re.search(sign, name)]
        return properties.get(name) or (fitting[0] if fitting else rest)

    return {name: _value(shape(name), root, depth + 1) for name in names}


def _array(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> list[Any]:
    fixed: list[Any] = schema.get("prefixItems", [])
    contained: list[Any] = [schema["contains"]] * int(schema.get("minContains", 1)) if "contains" in schema else []
    count = max(int(schema.get("minItems", 0)), len(fixed) + len(contained))
    shapes = [*fixed, *contained, *[schema.get("items", {})] * (count - len(fixed) - len(contained))]
    values: list[Any] = []
    for shape in shapes:
        value = _value(shape, root, depth + 1)
        for _ in range(1000):
            if not schema.get("uniqueItems") or value not in values:
                break
            value = _other(value)
        values.append(value)
    return values


def _other(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value}a" if isinstance(value, str) else [value]


def _fits(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    whole = {**{name: root[name] for name in ("$defs", "definitions") if name in root}, **schema}
    try:
        return bool(jsonschema_rs.is_valid(whole, value))
    except Exception:  # a schema that cannot be checked is not made right by another value
        return True


def _joined(one: Mapping[str, Any], two: Mapping[str, Any]) -> dict[str, Any]:
    """Both at once: properties and required names are added to each other."""
    joined = {**one, **two}
    if "properties" in one and "properties" in two:
        joined["properties"] = {**one["properties"], **two["properties"]}
    if "required" in one and "required" in two:
        joined["required"] = [*dict.fromkeys([*one["required"], *two["required"]])]
    return joined


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without `$ref` and `allOf` at the top."""
    for _ in range(_MAX_DEPTH):
        target = schema.get("$ref")
        if not isinstance(target, str):
            break
        target_schema: Any = root
        for part in unquote(target).removeprefix("#").strip("/").split("/"):
            target_schema = target_schema.get(part.replace("~1", "/").replace("~0", "~"), {}) if part else target_schema
        schema = {**target_schema, **{name: value for name, value in schema.items() if name != "$ref"}}
    for part in schema.get("allOf", ()):
        schema = _joined(schema, _resolved(part, root))
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
