"""The text of a reply that its schema leaves no choice about. Written token by token it takes as long as any other;
read as a part of the prompt, in one batch, a quarter of that.

So such a reply is asked for in pieces: what is certain is added, and the model writes from there to its next choice:
one token that tells the alternatives apart, or a value. No token is forced that the model could write otherwise: a
blank before a value is left to it, because most tokens begin with theirs.
"""

from __future__ import annotations

from typing import Any, TypeGuard, cast

from msgspec import Struct

from treadle._models.transport.wire import encode

Schema = dict[str, Any]
Part = str | Schema
"""Text that is certain, or the schema of a value that the model writes."""
Parts = list[Part]
_RECORD = {"type", "properties", "required", "additionalProperties", "title", "description"}
_NEXT = ', "'
"""Between a value and the next key."""
_ENDS = {"string": '", "', "integer": _NEXT, "number": _NEXT}
"""What a value of a type ends with where another follows: nothing in it can be the same."""


class Piece(Struct, frozen=True):
    """The next part of a reply, in one request to the model."""

    certain: str
    """Read before it."""
    grammar: str
    one_token: bool = False
    """It is asked to choose among alternatives."""
    stop: str = ""
    """The end of the value and what is certain behind it; empty: the model writes to the end of the reply."""


class Alternatives:
    """Which replies a schema still allows; the first piece is the beginning."""

    def __init__(self, rest: list[Parts], options: Schema) -> None:
        self._rest = rest
        self._options = options
        """What every schema of a value needs: definitions, and how JSON is written."""

    def certain(self) -> str | None:
        """The rest of the reply, where none of it is left to the model."""
        only = self._rest[0]
        return "".join(cast("list[str]", only)) if len(self._rest) == 1 and len(only) == 1 else None

    def next(self) -> Piece:
        if len(self._rest) == 1 and len(values := _values(self._rest[0][1])) > 1:
            text, _, *behind = self._rest[0]
            self._rest = [_joined([text, value, *behind]) for value in values]
        shared = _shared([str(parts[0]) for parts in self._rest]).rstrip()
        self._take(shared)
        if len(self._rest) > 1:
            return Piece(shared, self._grammar(), one_token=True)
        only = self._rest[0]
        follows = len(only) > 3 and str(only[2]).startswith(_NEXT)
        kind = "" if isinstance(only[1], str) else str(only[1].get("type"))
        return Piece(shared, self._grammar(), stop=_ENDS.get(kind, "") if follows else "")

    def chosen(self, text: str) -> bool:
        """Take the token that was written; whether it tells anything."""
        possible = [parts for parts in self._rest if text and str(parts[0]).startswith(text)]
        if possible:
            self._rest = possible
            self._take(text)
        return bool(possible)

    def stopped(self) -> None:
        """Take a value with its end."""
        self._rest = [self._rest[0][2:]]
        self._take(_NEXT)

    def _take(self, text: str) -> None:
        self._rest = [[str(parts[0])[len(text) :], *parts[1:]] for parts in self._rest]

    def _grammar(self) -> str:
        ways = (" ".join(self._term(part) for part in parts if part != "") for parts in self._rest)
        return f"%llguidance {{}}\nstart: {' | '.join(ways)}"

    def _term(self, part: Part) -> str:
        if isinstance(part, str):
            return encode(part).decode()
        return f"%json {encode({**part, **self._options}).decode()}"


def alternatives_of(schema: Schema) -> Alternatives | None:
    """The alternatives of a reply, where each begins with something that is certain."""
    options = {key: schema[key] for key in ("$defs", "definitions", "x-guidance") if key in schema}
    only = {key: value for key, value in schema.items() if key not in options}
    rest = [_joined(_parts(way)) for way in cast("list[Schema]", schema.get("anyOf", [only]))]
    if not all(isinstance(parts[0], str) for parts in rest):
        return None
    return Alternatives(rest, options)


def _parts(schema: Schema) -> Parts:
    if isinstance(schema.get("const"), str):
        return [encode(schema["const"]).decode()]
    if not _is_record(schema):
        return [schema]
    parts: list[Part] = []
    for key, value in schema["properties"].items():
        parts += [", " if parts else "{", f"{encode(key).decode()}: ", *_parts(value)]
    return [*parts, "}"]


def _is_record(schema: Schema) -> TypeGuard[Schema]:
    """Return whether each value has exactly these keys, in this order."""
    keys = list(schema.get("properties") or ())
    return (
        bool(keys)
        and keys == schema.get("required")
        and set(schema) <= _RECORD
        and not schema.get("additionalProperties", True)
    )


def _values(part: Part) -> list[str]:
    """The few values that a schema allows."""
    if isinstance(part, str) or set(part) - {"type", "enum", "description", "title"}:
        return []
    values: list[Any] = [True, False] if part.get("type") == "boolean" else part.get("enum", [])
    return [encode(value).decode() for value in values if isinstance(value, str | bool)]


def _shared(texts: list[str]) -> str:
    first, last = min(texts), max(texts)
    differ = (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return first[: next(differ, len(first))]


def _joined(parts: Parts) -> Parts:
    """With texts that follow each other as one, and a text at the beginning and between values."""
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(last := joined[-1], str):
            joined[-1] = last + part
        else:
            joined.append(part)
    return joined
