"""The typed answer while it is written: the JSON so far, closed where it stands, as far as it fits the type."""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

from treadle._engine.answering.output import OutputShape, shape_of
from treadle._tools.validation import checker
from treadle._types.events import OutputPartial

_STEP = 16
"""A text of so many characters is read again only when it has grown by one: reading costs what the whole is long."""
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+("?)|[{}\[\]:,]', re.DOTALL)
"""What says where a JSON text stands: a string, with its end where it has one, or a sign."""
_WITHOUT_HALF_ESCAPE = re.compile(r'"(?:[^"\\]++|\\(?:u[0-9a-fA-F]{4}|[^u]))*+', re.DOTALL)


class PartialReader:
    """Feed it the text of a typed answer, it gives what is there of the value whenever there is more of it."""

    def __init__(self, output_type: Any) -> None:
        self._type = output_type
        self._shape: OutputShape | None = None
        self._loose: dict[str, Any] = {}
        """The schema of a value that is not complete."""
        self._text = ""
        self._read = 0
        self._last: dict[str, Any] = {}

    def feed(self, text: str) -> OutputPartial | None:
        self._text += text
        if len(self._text) < self._read + max(1, self._read // _STEP):
            return None
        self._read = len(self._text)
        shape = self.shape
        for candidate in closed(self._text):
            data = self._fitting(candidate)
            if data is not None:
                if data == self._last:
                    return None
                self._last = data
                return OutputPartial(data, not checker(shape.schema).validate(data))
        return None

    def reset(self) -> None:
        self._text, self._read, self._last = "", 0, {}

    @property
    def shape(self) -> OutputShape:
        if self._shape is None:
            self._shape = shape_of(self._type)
            self._loose = _unfinished(self._shape.schema)
        return self._shape

    def _fitting(self, text: str) -> dict[str, Any] | None:
        try:
            value: Any = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return None
        if not isinstance(value, dict) or not value:
            return None
        data = cast(dict[str, Any], value)
        return data if not checker(self._loose).validate(data) else None


def _unfinished(schema: Any) -> Any:
    """The schema of a value that is not complete: nothing is required of what is still to come."""
    if isinstance(schema, list):
        return [_unfinished(item) for item in cast(list[Any], schema)]
    if not isinstance(schema, dict):
        return schema
    loose: dict[str, Any] = {}
    for key, value in cast(dict[str, Any], schema).items():
        if key in ("properties", "$defs") and isinstance(value, dict):  # names there are not keywords
            loose[key] = {name: _unfinished(inner) for name, inner in cast(dict[str, Any], value).items()}
        elif key not in ("required", "minItems", "minLength", "minProperties"):
            loose[key] = _unfinished(value)
    return loose


def closed(text: str) -> list[str]:
    """Return the JSON object that is being written as whole ones: with the string that has no end yet, and as far as
    its last complete value."""
    start = text.find("{")
    closers: list[str] = []
    key, complete, begun = False, -1, -1
    for token in _TOKEN.finditer(text, start) if start >= 0 else ():
        char = token[0][0]
        if char == '"' and not token[1]:
            begun = token.start()
            break
        if char in "{[":
            closers.append("}" if char == "{" else "]")
        elif char in "}]":
            closers.pop()
        if char == ",":
            complete = token.start()
        elif char != ":" and not (char == '"' and key):
            complete = token.end()
        if not closers:
            break
        if char != '"':  # what follows in an object is a name
            key = char == "{" or (char == "," and closers[-1] == "}")
    end = "".join(reversed(closers))
    found: list[str] = []
    if begun >= 0 and not key and (string := _WITHOUT_HALF_ESCAPE.match(text, begun)):
        found.append(f'{text[start : string.end()]}"{end}')
    if complete >= 0:
        found.append(text[start:complete] + end)
    return found
