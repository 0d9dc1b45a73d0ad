"""Find the line of a value in a file by its path in the document."""

from __future__ import annotations

import re
from bisect import bisect
from typing import Any, cast

from treadle._config.document import Path

Lines = dict[Path, int]
_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_SCALAR = re.compile(r"[^,\]}\s]+")


def line_of(lines: Lines, path: Path) -> int:
    """Return the line of `path`, or of the closest value around it that the file has; 0 if there is none.

    A document may be written in a short form: one agent, or components without a key around them.
    """
    for form in (path, _as_one_agent(path), path[1:]):
        for end in range(len(form), 0, -1):
            if form[:end] in lines:
                return lines[form[:end]]
    return 0


def _as_one_agent(path: Path) -> Path:
    return ("agent", *path[4:]) if path[2:4] == ("obj", "params") else path


def lines_of(text: str, suffix: str) -> Lines:
    """The line of each key and item, counted from 1; empty for a text that cannot be read.

    For texts that were read as a document before: sizes, depths and repetitions are in bounds.
    """
    try:
        return _yaml_lines(text) if suffix in (".yaml", ".yml") else _json_lines(text)
    except (ValueError, RecursionError):
        return {}


def _yaml_lines(text: str) -> Lines:
    from treadle._safety.yaml_loader import nodes

    lines: Lines = {}

    def walk(node: Any, path: Path) -> None:
        if node.id == "mapping":
            for key, value in cast(list[tuple[Any, Any]], node.value):
                lines[(*path, str(key.value))] = key.start_mark.line + 1
                walk(value, (*path, str(key.value)))
        elif node.id == "sequence":
            for number, item in enumerate(cast(list[Any], node.value)):
                lines[(*path, number)] = item.start_mark.line + 1
                walk(item, (*path, number))

    walk(nodes(text), ())
    return lines


def _json_lines(text: str) -> Lines:
    """Scan a text that is valid JSON: only its brackets, keys and commas matter."""
    import json

    lines: Lines = {}
    ends = [match.start() for match in re.finditer("\n", text)]

    def skip(at: int) -> int:
        match = _SPACE.match(text, at)
        return match.end() if match else at

    def walk(at: int, path: Path) -> int:
        at = skip(at)
        opening = text[at : at + 1]
        if opening not in ("{", "["):
            match = (_STRING if opening == '"' else _SCALAR).match(text, at)
            if match is None:
                raise ValueError("not JSON")
            return match.end()
        number, at = 0, skip(at + 1)
        while text[at : at + 1] not in ("}", "]"):
            key: str | int = number
            line = bisect(ends, at) + 1
            if opening == "{":
                match = _STRING.match(text, at)
                if match is None:
                    raise ValueError("not JSON")
                key, at = str(json.loads(match.group())), skip(match.end()) + 1
            lines[(*path, key)] = line
            at = skip(walk(at, (*path, key)))
            if text[at : at + 1] == ",":
                at = skip(at + 1)
            elif text[at : at + 1] not in ("}", "]"):
                raise ValueError("not JSON")
            number += 1
        return at + 1

    walk(0, ())
    return lines
