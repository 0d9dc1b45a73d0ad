"""Shared by the SQL tools: limits, results, database values as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, Protocol

from msgspec import Struct

from treadle._tools.builtin.common import clip
from treadle._types.errors import ToolError

MAX_CELL = 1_000
MAX_CHARS = 40_000
MAX_TABLES = 200


class Limits(Struct, frozen=True):
    max_rows: int
    timeout: float
    read_only: bool
    memory: int
    """In bytes, for one query and its result."""

    @property
    def too_slow(self) -> str:
        return f"the query took longer than {self.timeout:g} s: simplify it or ask for less data"

    @property
    def too_large(self) -> str:
        return f"the query needs more than {self.memory // 2**20} MB of memory: ask for fewer or smaller values"


class Rows(Struct, frozen=True, omit_defaults=True):
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    truncated: bool = False
    """There are more rows than these."""
    changed: int | None = None
    """How many rows a statement changed, if the database reports it."""


class Table(Struct, frozen=True, omit_defaults=True):
    name: str
    columns: tuple[str, ...]
    kind: str = "table"


class Schema(Struct, frozen=True, omit_defaults=True):
    tables: tuple[Table, ...]
    more: int = 0
    """How many tables were left out."""


class Database(Protocol):
    """One kind of database; `query` and `schema` are the tools' functions."""

    @property
    def dialect(self) -> str: ...

    def query(self, query: str) -> Rows: ...

    def schema(self, table: str = "") -> Schema: ...


def to_rows(
    columns: Iterable[str], fetched: Iterable[Sequence[Any]], limits: Limits, changed: int | None = None
) -> Rows:
    """Rows within the limits. They are taken one by one, so that a few large ones are never all in memory."""
    rows: list[tuple[Any, ...]] = []
    size = 0
    truncated = False
    for row in fetched:
        values = tuple(_value(value) for value in row)
        del row  # the next one is made before the name is given to it
        size += sum(len(value) if isinstance(value, str) else 8 for value in values)
        truncated = len(rows) == limits.max_rows or (bool(rows) and size > MAX_CHARS)
        if truncated:
            break
        rows.append(values)
    return Rows(tuple(clip(column, 200) for column in columns), tuple(rows), truncated, changed)


def to_schema(columns: Iterable[tuple[str, str, str]], only: str) -> Schema:
    """The tables of (table, kind, column) rows in their order, or `only` the named one."""
    tables: dict[str, tuple[str, list[str]]] = {}
    for table, kind, column in columns:
        tables.setdefault(table, (kind, []))[1].append(column)
    if only:
        folded = {name.casefold(): name for name in tables}
        name = folded.get(only.casefold())
        if name is None:
            raise ToolError(
                f"there is no table {only!r}; expected one of: {clip(', '.join(tables), 500) or '(no tables)'}"
            )
        tables = {name: tables[name]}
    shown = [Table(name, tuple(names[:MAX_TABLES]), kind) for name, (kind, names) in list(tables.items())[:MAX_TABLES]]
    return Schema(tuple(shown), len(tables) - len(shown))


def _value(value: Any) -> Any:
    """A database value as JSON: long text is cut, bytes are replaced by their size, other types become text."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes | bytearray):
        return f"<{len(value)} bytes>"
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and abs(value) < 10**15 else str(value)
    return clip(value if isinstance(value, str) else str(value), MAX_CELL)
