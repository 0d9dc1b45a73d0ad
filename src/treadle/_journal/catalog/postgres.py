"""The tables about whole runs in Postgres, and how statements about them are run there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from treadle._journal.catalog import statements as sql
from treadle._journal.catalog.values import SAID
from treadle._journal.rows import QUESTION_CHARS

T = TypeVar("T")

_LONG = f"length(r.question) >= {QUESTION_CHARS} AND l.type = 'run_started'"
WORDS = sql.Words(
    updated="coalesce((SELECT time FROM {s}records AS l WHERE l.run = r.run ORDER BY seq DESC LIMIT 1), r.created)",
    records="coalesce((SELECT max(seq) + 1 FROM {s}records AS l WHERE l.run = r.run), 0)",
    tags="(SELECT CAST(json_agg(tag) AS text) FROM {s}tags AS t WHERE t.run = r.run)",
    lower="lower",
    listed="SELECT jsonb_array_elements_text(CAST(:listed AS jsonb))",
    bucket="CAST(floor(r.created / :span) AS bigint)",
    begins="starts_with(r.run, :prefix)",
    text_records=f"SELECT 1 FROM {{s}}records AS l WHERE l.run = r.run AND (l.type IN {SAID!r} OR ({_LONG}))",
    like="ILIKE",
)
_TYPES = {
    "run": "text", "tool": "text", "note": "text", "thumb": "text", "title": "text", "tag": "text", "text": "text",
    "listed": "text", "prefix": "text",
    "cost": "float8", "elapsed": "float8", "created": "float8", "since": "float8", "until": "float8", "span": "float8",
    "conversation": "text", "parent": "text", "user": "text", "agent": "text", "model": "text", "status": "text",
    "stop_reason": "text", "key": "text", "usage": "text", "content": "text", "time": "float8",
}  # fmt: skip


def _type_of(name: str) -> str:
    return "text" if name.startswith("said_") else _TYPES.get(name, "bigint")


class Connection(Protocol):
    async def fetch(self, query: str, *args: object) -> list[Any]: ...


class Catalog:
    """Runs the statements, for the tables in one database schema."""

    def __init__(self, schema: str) -> None:
        self._place = f'"{schema}".'

    async def run(self, con: Connection, steps: sql.Steps[T]) -> T:
        try:
            statement = next(steps)
            while True:
                statement = steps.send(await self._ask(con, *statement))
        except StopIteration as done:
            return done.value

    async def _ask(self, con: Connection, statement: str, values: Mapping[str, Any]) -> list[Any]:
        """`:name` becomes the number of a parameter, with its type: Postgres cannot always infer that."""
        names: list[str] = []

        def number(match: re.Match[str]) -> str:
            name = match[1]
            if name not in names:
                names.append(name)
            return f"CAST(${names.index(name) + 1} AS {_type_of(name)})"

        text = re.sub(r":([a-z_]+)", number, statement.replace("{s}", self._place))
        return await con.fetch(text, *(values[name] for name in names))
