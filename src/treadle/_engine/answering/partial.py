"""The typed answer while it is written: the JSON so far, closed where it stands, as far as it fits the type."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from treadle._engine.answering.output import OutputShape, shape_of
from treadle._tools.validation import checker
from treadle._types.events import OutputPartial

_STEP = 16
"""A text of so many characters is read again only when it has grown by one: reading costs what the whole is long."""


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
        except msgspec.DecodeError:
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
    """A JSON object that was begun as whole ones: with the text that is being written, and without it."""
    start = text.find("{")
    if start < 0:
        return []
    scan = _Scan(text, start)
    found: list[str] = []
    if scan.growing >= 0:
        found.append(text[start : scan.growing] + '"' + scan.closers)
    if scan.safe >= 0:
        found.append(text[start : scan.safe] + scan.safe_closers)
    return found


class _Scan:
    """Where a JSON text can be cut so that it is whole when its brackets are closed."""

    def __init__(self, text: str, start: int) -> None:
        self.safe, self.safe_closers = -1, ""
        """The end of the last complete value."""
        self.growing = -1
        """The end of a string value that is being written."""
        stack: list[str] = []
        key, position = False, start
        while position < len(text):
            char = text[position]
            if char == '"':
                end = _string_end(text, position + 1)
                if end < 0:
                    if not key:
                        self.growing = len(text) - _loose_end(text, position + 1)
                    break
                position = end
                if not key:
                    self._mark(position + 1, stack)
            elif char in "{[":
                stack.append("}" if char == "{" else "]")
                key = char == "{"
                self._mark(position + 1, stack)
            elif char in "}]":
                if not stack:
                    break
                stack.pop()
                key = False
                self._mark(position + 1, stack)
                if not stack:
                    break
            elif char == ":":
                key = False
            elif char == ",":
                key = bool(stack) and stack[-1] == "}"
                self._mark(position, stack)
            position += 1
        self.closers = "".join(reversed(stack))

    def _mark(self, end: int, stack: list[str]) -> None:
        self.safe, self.safe_closers = end, "".join(reversed(stack))


def _string_end(text: str, position: int) -> int:
    while 0 <= position < len(text):
        if text[position] == "\\":
            position += 2
        elif text[position] == '"':
            return position
        else:
            position += 1
    return -1


def _loose_end(text: str, start: int) -> int:
    """How many characters at the end are half an escape."""
    back = text.rfind("\\", max(start, len(text) - 6))
    while back > start and text[back - 1] == "\\" and (len(text[:back]) - len(text[:back].rstrip("\\"))) % 2:
        back -= 1
        if len(text) - back > 6:
            return 0
    if back < start:
        return 0
    escape = text[back:]
    whole = (len(escape) >= 2 and escape[1] != "u") or len(escape) >= 6
    return 0 if whole else len(escape)
