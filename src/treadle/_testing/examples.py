"""A plain value that fits a JSON Schema, and a text that fits a pattern: what a test calls a tool with."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, cast
from urllib.parse import unquote

import jsonschema_rs

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
