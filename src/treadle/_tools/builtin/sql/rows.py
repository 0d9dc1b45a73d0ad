"""What the SQL tools share: limits, results, values made fit for a model."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Iterable, Sequence
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


class Rows(Struct, frozen=True, omit_defaults=True):
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    truncated: bool = False
    """There are more rows than these."""
    changed: int | None = None
    """How many rows a statement changed, where the database says."""


class Table(Struct, frozen=True, omit_defaults=True):
    name: str
    columns: tuple[str, ...]
    kind: str = "table"


class Schema(Struct, frozen=True, omit_defaults=True):
    tables: tuple[Table, ...]
    more: int = 0
    """How many tables were left out."""


class Database(Protocol):
    """One kind of database; `query` and `schema` are the tools' functions, sync or async."""

    @property
    def dialect(self) -> str: ...

    def query(self, query: str) -> Rows | Awaitable[Rows]: ...

    def schema(self, table: str = "") -> Schema | Awaitable[Schema]: ...


def to_rows(columns: Iterable[str], found: Sequence[Sequence[Any]], limits: Limits, changed: int | None = None) -> Rows:
    """Rows within the limits; `found` may have one more than allowed, as a sign that there are more."""
    rows: list[tuple[Any, ...]] = []
    size = 0
    for row in found[: limits.max_rows]:
        values = tuple(_value(value) for value in row)
        size += sum(len(value) if isinstance(value, str) else 8 for value in values)
        if rows and size > MAX_CHARS:
            break
        rows.append(values)
    return Rows(tuple(clip(column, 200) for column in columns), tuple(rows), len(rows) < len(found), changed)


def to_schema(columns: Iterable[tuple[str, str, str]], wanted: str) -> Schema:
    """Tables from (table, kind, column) lines, in their order."""
    tables: dict[str, tuple[str, list[str]]] = {}
    for table, kind, column in columns:
        tables.setdefault(table, (kind, []))[1].append(column)
    if wanted:
        folded = {name.casefold(): name for name in tables}
        name = folded.get(wanted.casefold())
        if name is None:
            raise ToolError(f"there is no table {wanted!r}; there are: {clip(', '.join(tables), 500) or 'none'}")
        tables = {name: tables[name]}
    kept = [Table(name, tuple(names[:MAX_TABLES]), kind) for name, (kind, names) in list(tables.items())[:MAX_TABLES]]
    return Schema(tuple(kept), len(tables) - len(kept))


def _value(value: Any) -> Any:
    """A database value as JSON: text is cut, bytes are named by size, the rest is written out."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes | bytearray):
        return f"<{len(value)} bytes>"
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and abs(value) < 10**15 else str(value)
    return clip(value if isinstance(value, str) else str(value), MAX_CELL)
