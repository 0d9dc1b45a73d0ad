"""The typed answer while it is written: the JSON so far, closed where it stands, as far as it fits the type."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, cast

import msgspec

from treadle._engine.answering.output import OutputShape, shape_of
from treadle._tools.validation import checker
from treadle._types.events import OutputPartial

_STEP = 16
"""A text of so many characters is read again only when it has grown by one: reading costs what the whole is long."""
_INSIDE_STRING = re.compile(r'(?:[^"\\]++|\\.)*+', re.DOTALL)


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
        self._growing = Growing()

    def feed(self, text: str) -> OutputPartial | None:
        self._text += text
        if len(self._text) < self._read + max(1, self._read // _STEP):
            return None
        self._read = len(self._text)
        shape = self.shape
        for candidate in self._growing.closed(self._text):
            data = self._fitting(candidate)
            if data is not None:
                if data == self._last:
                    return None
                self._last = data
                return OutputPartial(data, not checker(shape.schema).validate(data))
        return None

    def reset(self) -> None:
        self._text, self._read, self._last, self._growing = "", 0, {}, Growing()

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


class _Open(NamedTuple):
    """A bracket that is open: each place in a text keeps those around it at no cost."""

    closer: str
    around: _Open | None


class Growing:
    """A JSON object that is being written: where it can be cut so that it is whole when its brackets are closed."""

    def __init__(self) -> None:
        self._start = self._at = -1
        self._inner: _Open | None = None
        self._key = self._over = False
        self._safe = -1
        """The end of the last complete value."""
        self._safe_inner: _Open | None = None

    def closed(self, text: str) -> list[str]:
        """Return the object as whole ones: with the text that is being written, and without it. `text` is all that has
        come; what was read of it before is not read again."""
        if self._start < 0:
            self._start = self._at = text.find("{")
        if self._start < 0:
            return []
        begun = self._read(text)
        found: list[str] = []
        if begun >= 0 and not self._key:
            found.append(text[self._start : len(text) - _loose_end(text, begun + 1)] + '"' + _closing(self._inner))
        if self._safe >= 0:
            found.append(text[self._start : self._safe] + _closing(self._safe_inner))
        return found

    def _read(self, text: str) -> int:
        """Read on. Returns where a string begins that has no end yet; -1 if none does."""
        while self._at < len(text) and not self._over:
            char = text[self._at]
            if char == '"':
                inside = _INSIDE_STRING.match(text, self._at + 1)
                end = inside.end() if inside is not None else len(text)
                if not text.startswith('"', end):
                    return self._at
                self._at = end
                if not self._key:
                    self._mark(end + 1)
            elif char in "{[":
                self._inner = _Open("}" if char == "{" else "]", self._inner)
                self._key = char == "{"
                self._mark(self._at + 1)
            elif char in "}]":
                self._inner = self._inner.around if self._inner is not None else None
                self._key, self._over = False, self._inner is None
                self._mark(self._at + 1)
            elif char == ":":
                self._key = False
            elif char == ",":
                self._key = self._inner is not None and self._inner.closer == "}"
                self._mark(self._at)
            self._at += 1
        return -1

    def _mark(self, end: int) -> None:
        self._safe, self._safe_inner = end, self._inner


def _closing(bracket: _Open | None) -> str:
    closers: list[str] = []
    while bracket is not None:
        closers.append(bracket.closer)
        bracket = bracket.around
    return "".join(closers)


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
