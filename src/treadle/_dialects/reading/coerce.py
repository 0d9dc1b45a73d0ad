"""Converts arguments to the types their schema asks for: `"3"` to 3, `"true"` to true, a single item to a list."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from treadle._dialects.reading.lenient import parse_all
from treadle._dialects.reading.parsed import UnreadableJson

_INTEGER = re.compile(r"[-+]?\d{1,300}")
_NUMBER = re.compile(r"[-+]?(\d+(?:\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?")
_MAX_DEPTH = 16
_MAX_EXACT_INTEGER = 2.0**53

Schema = dict[str, Any]


def coerce(args: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """`args` with each value converted to the type its schema names.

    A value that already fits, or that cannot be converted, stays as it is.
    """
    return _object(args, schema, schema, 0)


def whole_numbers(value: Any, schema: Any, root: Mapping[str, Any], depth: int = 0) -> Any:
    """5.0 as 5 where the schema asks for an integer: the same number in JSON, but not for `range`."""
    if not isinstance(value, (float, dict, list)):
        return value
    options = _options(schema, root, depth)
    if isinstance(value, float):
        types = {name for option in options for name in _types(option)}
        exact = value.is_integer() and abs(value) < _MAX_EXACT_INTEGER
        return int(value) if exact and "integer" in types and "number" not in types else value
    if isinstance(value, list):
        items = {"anyOf": [option.get("items") for option in options]}
        return [whole_numbers(one, items, root, depth) for one in cast("list[Any]", value)]
    parts: dict[str, Any] = {}
    for option in options:
        parts.update(option.get("properties") or {})
    others = {"anyOf": [option.get("additionalProperties") for option in options]}
    fields = cast("dict[str, Any]", value)
    return {name: whole_numbers(one, parts.get(name, others), root, depth) for name, one in fields.items()}


def _object(value: dict[str, Any], schema: Schema, root: Schema, depth: int) -> dict[str, Any]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return value
    schemas = cast("dict[str, Any]", properties)
    return {
        key: _coerce(item, schemas[key], root, depth + 1) if key in schemas else item for key, item in value.items()
    }


def _coerce(value: Any, schema: Any, root: Schema, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        return value
    options = _options(schema, root, depth)
    types = {name for option in options for name in _types(option)}
    if not types:
        return _fit_enum(value, options)
    if _type_of(value) not in types and not (_type_of(value) == "integer" and "number" in types):
        value = _convert(value, types)
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        objects = [option for option in options if "object" in _types(option)]
        return _object(fields, objects[0], root, depth) if objects else fields
    if isinstance(value, list):
        items = [option.get("items") for option in options if "array" in _types(option)]
        rows = cast("list[Any]", value)
        return [_coerce(row, items[0], root, depth + 1) for row in rows] if items and items[0] is not None else rows
    return _fit_enum(value, options)


def _options(schema: Any, root: Mapping[str, Any], depth: int) -> list[Schema]:
    """The schemas a value may fit: references resolved, alternatives in one list."""
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return []
    fields = cast("Schema", schema)
    reference = fields.get("$ref")
    if isinstance(reference, str):
        return _options(_resolve(reference, root), root, depth + 1)
    result: list[Schema] = [fields]
    for keyword in ("anyOf", "oneOf", "allOf"):
        alternatives: Any = fields.get(keyword)
        if isinstance(alternatives, list):
            for alternative in cast("list[Any]", alternatives):
                result += _options(alternative, root, depth + 1)
    return result


def _resolve(reference: str, root: Mapping[str, Any]) -> Any:
    target: Any = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        if not isinstance(target, dict):
            return None
        target = cast("Schema", target).get(step)
    return target


def _types(schema: Schema) -> list[str]:
    declared: Any = schema.get("type")
    if isinstance(declared, str):
        return [declared]
    if isinstance(declared, list):
        return [name for name in cast("list[Any]", declared) if isinstance(name, str)]
    choices: Any = schema.get("enum", [schema["const"]] if "const" in schema else [])
    return [_type_of(choice) for choice in cast("list[Any]", choices)] if isinstance(choices, list) else []


def _type_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    for kind, name in ((int, "integer"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "object"


def _convert(value: Any, types: set[str]) -> Any:
    if isinstance(value, str):
        return _from_text(value, types)
    if isinstance(value, float) and value.is_integer() and "integer" in types:
        return int(value)
    if isinstance(value, list) and len(rows := cast("list[Any]", value)) == 1 and _type_of(rows[0]) in types:
        return rows[0]
    if "array" in types and value is not None:
        return [value]
    if types <= {"string", "null"} and value is not None:
        return msgspec.json.encode(value).decode()
    return cast("Any", value)


def _from_text(text: str, types: set[str]) -> Any:
    """A string where none is allowed, as the first allowed type that it can be read as."""
    plain = text.strip()
    if "boolean" in types and plain.lower() in ("true", "false"):
        return plain.lower() == "true"
    if "integer" in types and _INTEGER.fullmatch(plain):
        return int(plain)
    if types & {"integer", "number"} and _NUMBER.fullmatch(plain):
        number = float(plain)
        if "number" in types and abs(number) != float("inf"):
            return int(plain) if _INTEGER.fullmatch(plain) else number
        if number.is_integer():
            return int(number)
    if "null" in types and plain.lower() in ("null", "none", ""):
        return None
    if types & {"array", "object"} and plain[:1] in ("[", "{"):
        for candidate in (plain, _unescaped(plain)):
            try:
                value = parse_all(candidate)
            except UnreadableJson:
                value = None
            if _type_of(value) in types:
                return value
    return [text] if "array" in types and plain[:1] not in ("[", "{") else text


def _unescaped(text: str) -> str:
    """A text that was escaped once too often, as it was before; the text itself if that is not what happened."""
    try:
        return msgspec.json.decode(f'"{text}"', type=str)
    except ValueError:
        return text


def _fit_enum(value: Any, options: list[Schema]) -> Any:
    """The choice that differs from the value by case only (`"celsius"` for `"Celsius"`), when there is exactly one."""
    if not isinstance(value, str):
        return value
    choices: list[Any] = [choice for option in options for choice in option.get("enum", ())]
    if not choices or value in choices:
        return value
    close = [choice for choice in choices if isinstance(choice, str) and choice.lower() == value.strip().lower()]
    return close[0] if len(close) == 1 else value
