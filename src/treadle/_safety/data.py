"""Reads JSON, YAML and TOML that a stranger may have written: size, depth and repetition are bounded before anything
walks through the data, and a name that stands twice is an error, not the last one's victory."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import msgspec

from treadle._types.errors import MissingExtraError

T = TypeVar("T")

MAX_BYTES = 16 * 1024 * 1024
"""Of a file, unless its reader says otherwise."""
MAX_YAML_BYTES = 1024 * 1024
"""Reading YAML takes about ten seconds per megabyte in the worst case."""
MAX_DEPTH = 100
"""Lists and mappings inside each other. Python itself gives up at about a thousand, wherever that happens to be."""
MAX_NODES = 50_000
"""Values in a YAML text, where an alias counts as all that it repeats."""
MAX_NUMBER = 100
"""Characters of a number in YAML; longer ones take a time that grows with their square."""

# Possessive and with an optional end, so that any text is read once from left to right.
_NAME_END = re.compile(r'"\s*:')
_JSON_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)


class DataError(ValueError):
    """The text cannot be used; the message says why and, where that helps, at which line."""


class InvalidDataError(DataError):
    """It can be read, but it is not what was asked for."""


def read_text(path: Path, limit: int = MAX_BYTES) -> str:
    """A file's text. Never more than `limit` bytes are read, also from what is not a plain file. OSError passes."""
    with path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise DataError(f"it is larger than {limit} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"it is not UTF-8: {error.reason} at byte {error.start}") from None


@overload
def decode_json(data: str | bytes, *, depth: int = MAX_DEPTH) -> Any: ...
@overload
def decode_json(data: str | bytes, kind: type[T], *, depth: int = MAX_DEPTH) -> T: ...
def decode_json(data: str | bytes, kind: Any = Any, *, depth: int = MAX_DEPTH) -> Any:
    """JSON as `kind`, or as plain data when none is given; a `DataError` for everything that is wrong with it."""
    import json

    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        _check_depth(text, depth)
        value = msgspec.json.decode(text, type=kind)
        json.loads(text, object_pairs_hook=_without_duplicates, parse_int=str, parse_float=str)
    except msgspec.ValidationError as error:
        raise InvalidDataError(str(error)) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(str(error)) from None
    return value


def decode_yaml(text: str, *, depth: int = MAX_DEPTH) -> Any:
    """YAML as plain data; a `DataError` for everything that is wrong with it."""
    try:
        import yaml
    except ImportError:
        raise MissingExtraError("reading YAML", "yaml") from None
    if len(text.encode("utf-8", "replace")) > MAX_YAML_BYTES:
        raise DataError(f"it is larger than {MAX_YAML_BYTES} bytes, too much for YAML: write JSON")
    from treadle._safety.yaml_loader import loader

    try:
        return loader(text, depth, MAX_NODES, MAX_NUMBER).get_single_data()
    except (yaml.YAMLError, ValueError, ArithmeticError, RecursionError) as error:
        raise DataError(str(error)) from None


def decode_toml(text: str, *, depth: int = MAX_DEPTH) -> dict[str, Any]:
    import tomllib

    try:
        value = tomllib.loads(text)
    except RecursionError:
        raise DataError(f"it has more than {depth} lists and tables inside each other") from None
    except (ValueError, ArithmeticError) as error:
        raise DataError(str(error)) from None
    _check_levels(value, depth)
    return value


def repeats_a_name(text: str, names: int) -> bool:
    """Return whether a name stands twice in one object of a JSON text that is valid, whose outermost object has this
    many names. Where there are no more colons than that, nothing has to be read for it."""
    import json

    if len(_NAME_END.findall(text)) <= names:
        return False
    try:
        json.loads(text, object_pairs_hook=_without_duplicates, parse_int=str, parse_float=str)
    except DataError:
        return True
    except (ValueError, RecursionError):
        return False
    return False


def _check_depth(text: str, limit: int) -> None:
    depth = 0
    for match in _JSON_TOKENS.finditer(text):
        token = match[0]
        if token in "[{":
            depth += 1
            if depth > limit:
                line = text.count("\n", 0, match.start()) + 1
                raise DataError(f"line {line}: more than {limit} lists and objects inside each other")
        elif token in "]}":
            depth -= 1


def _check_levels(value: Any, limit: int) -> None:
    """Level by level, so that the check itself needs no depth."""
    level: list[Any] = [value]
    for _ in range(limit + 1):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(cast(dict[str, Any], item).values())
            elif isinstance(item, list):
                inner.extend(cast(list[Any], item))
        if not inner:
            return
        level = inner
    raise DataError(f"it has more than {limit} lists and tables inside each other")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> None:
    names: set[str] = set()
    for name, _ in pairs:
        if name in names:
            raise DataError(f"the name {name[:80]!r} stands twice in one object")
        names.add(name)
