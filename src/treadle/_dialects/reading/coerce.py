"""Arguments written as text, turned into the types a schema asks for: `"3"` for 3, `"true"` for true, one item for a list."""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

from treadle._dialects.reading.lenient import Lenient, Unreadable

_INTEGER = re.compile(r"[-+]?\d{1,300}")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?")
_MAX_DEPTH = 16

Schema = dict[str, Any]


def coerce(args: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """`args` with each value in the type its schema names, where that is plain; what already fits, or cannot be made to, stays."""
    return _object(args, schema, schema, 0)


def _object(value: dict[str, Any], schema: Schema, root: Schema, depth: int) -> dict[str, Any]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return value
    known = cast("dict[str, Any]", properties)
    return {key: _coerce(item, known[key], root, depth + 1) if key in known else item for key, item in value.items()}


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
        found = [option for option in options if "object" in _types(option)]
        return _object(cast("dict[str, Any]", value), found[0], root, depth) if found else cast("dict[str, Any]", value)
    if isinstance(value, list):
        items = [option.get("items") for option in options if "array" in _types(option)]
        rows = cast("list[Any]", value)
        return [_coerce(row, items[0], root, depth + 1) for row in rows] if items and items[0] is not None else rows
    return _fit_enum(value, options)


def _options(schema: Any, root: Schema, depth: int) -> list[Schema]:
    """The plain schemas a value may fit: references resolved, alternatives laid side by side."""
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return []
    found = cast("Schema", schema)
    reference = found.get("$ref")
    if isinstance(reference, str):
        return _options(_resolve(reference, root), root, depth + 1)
    result: list[Schema] = [found]
    for word in ("anyOf", "oneOf", "allOf"):
        alternatives: Any = found.get(word)
        if isinstance(alternatives, list):
            for alternative in cast("list[Any]", alternatives):
                result += _options(alternative, root, depth + 1)
    return result


def _resolve(reference: str, root: Schema) -> Any:
    target: Any = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        if not isinstance(target, dict):
            return None
        target = cast("Schema", target).get(step)
    return target


def _types(schema: Schema) -> list[str]:
    named: Any = schema.get("type")
    if isinstance(named, str):
        return [named]
    if isinstance(named, list):
        return [name for name in cast("list[Any]", named) if isinstance(name, str)]
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
    """A string where none is allowed, as the first of the allowed types it can be read as."""
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
        for candidate in (plain, plain.replace('\\"', '"').replace("\\\\", "\\")):
            read = _read(candidate)
            if _type_of(read) in types:
                return read
    return [text] if "array" in types and plain[:1] not in ("[", "{") else text


def _read(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        pass
    try:
        parsed = Lenient(text).parse(0)
    except Unreadable:
        return None
    return parsed.value if parsed.closed and not text[parsed.end :].strip() else None


def _fit_enum(value: Any, options: list[Schema]) -> Any:
    """`"Celsius"` for `"celsius"`, when exactly one choice differs by case only."""
    if not isinstance(value, str):
        return value
    choices: list[Any] = [choice for option in options for choice in option.get("enum", ())]
    if not choices or value in choices:
        return value
    close = [choice for choice in choices if isinstance(choice, str) and choice.lower() == value.strip().lower()]
    return close[0] if len(close) == 1 else value
