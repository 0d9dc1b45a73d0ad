"""Reads SKILL.md: the public format of Agent Skills. A stranger may have written it.

Front matter is YAML between two lines of `---`; below it is the body, in Markdown. `name` and `description` are
required; `license`, `compatibility`, `metadata` and `allowed-tools` are optional. Fields that are not of the format are
named, and otherwise ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from treadle._safety.data import DataError, decode_yaml
from treadle._types.errors import ConfigError

MAX_NAME, MAX_DESCRIPTION, MAX_COMPATIBILITY = 64, 1024, 500
_FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_FRONT = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*$\r?\n?", re.DOTALL | re.MULTILINE)
_TOOL = re.compile(r"[^\s,(]+(?:\([^()\n]*\))?")


class FrontMatter(Struct, frozen=True):
    name: str
    description: str
    license: str = ""
    compatibility: str = ""
    metadata: Mapping[str, str] = {}
    allowed_tools: tuple[str, ...] = ()
    """What the author expects to use. It is shown, and grants nothing."""
    unknown: tuple[str, ...] = ()
    """Fields that are not of the format."""


def parse(text: str) -> tuple[FrontMatter, str, int]:
    """The front matter, the body and the line it begins in; `ConfigError` says what is wrong with the file."""
    match = _FRONT.match(text)
    if match is None:
        raise ConfigError("it does not begin with front matter: a line `---`, the fields, and a second line `---`")
    try:
        raw: Any = decode_yaml(match[1])
    except DataError as error:
        raise ConfigError(f"its front matter cannot be read: {error}") from None
    if not isinstance(raw, dict):
        raise ConfigError("its front matter is not a list of fields: write name: ... and description: ...")
    fields = {str(name): value for name, value in cast("dict[Any, Any]", raw).items()}
    below = text[match.end() :]
    body = below.lstrip("\r\n")
    line = text.count("\n", 0, len(text) - len(body)) + 1
    return _checked(fields), body.rstrip(), line


def _checked(fields: dict[str, Any]) -> FrontMatter:
    name = _text(fields, "name", MAX_NAME, required=True)
    if not _NAME.fullmatch(name):
        raise ConfigError(f"name: {name!r} must be small letters, digits and single hyphens between them")
    return FrontMatter(
        name=name,
        description=_text(fields, "description", MAX_DESCRIPTION, required=True),
        license=_text(fields, "license", 1_000),
        compatibility=_text(fields, "compatibility", MAX_COMPATIBILITY),
        metadata=_metadata(fields.get("metadata")),
        allowed_tools=_tools(fields.get("allowed-tools")),
        unknown=tuple(clean[:60] for field in fields if field not in _FIELDS and (clean := _one_line(field))),
    )


def _text(fields: dict[str, Any], name: str, most: int, *, required: bool = False) -> str:
    value = fields.get(name)
    if value is None or value == "":
        if required:
            raise ConfigError(f"{name}: it is missing, and a skill needs one")
        return ""
    if not isinstance(value, str):
        raise ConfigError(f"{name}: it must be text, not {type(value).__name__}: put it in quotes")
    text = _one_line(value)
    if required and not text:
        raise ConfigError(f"{name}: it is empty, and a skill needs one")
    if len(text) > most:
        raise ConfigError(f"{name}: it has {len(text)} characters, and at most {most} are allowed")
    return text


def _one_line(text: str) -> str:
    """It becomes one line of a list in a prompt and at the terminal: no line breaks, no control characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _metadata(value: Any) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError("metadata: it must be a list of names and values")
    return {_one_line(str(key)): _one_line(str(item)) for key, item in cast("dict[Any, Any]", value).items()}


def _tools(value: Any) -> tuple[str, ...]:
    """The format says: one text, separated by blanks. Lists and commas are in use, too."""
    if value is None:
        return ()
    items: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not all(isinstance(item, str) for item in items):
        raise ConfigError("allowed-tools: it must be names of tools, separated by blanks")
    return tuple(name for item in items for name in _TOOL.findall(_one_line(item)))
