"""The Postgres journal's tables about whole runs, and its statements over many of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from treadle._journal.base import RunInfo
from treadle._journal.catalog import statements as sql
from treadle._journal.catalog.changes import changed_annotations, with_annotations
from treadle._journal.catalog.values import SAID, Overview, RunFilter, RunSummary, Thumb, ToolUse, span_of
from treadle._journal.rows import QUESTION_CHARS, not_found

TABLES = ("summaries", "tool_use", "annotations", "tags")
MIGRATION = """
    CREATE TABLE {s}.summaries(
        run text PRIMARY KEY, success integer NOT NULL, iterations bigint NOT NULL, requests bigint NOT NULL,
        tool_calls bigint NOT NULL, failed_calls bigint NOT NULL, input_tokens bigint NOT NULL,
        output_tokens bigint NOT NULL, cached_tokens bigint NOT NULL, cost float8, elapsed float8 NOT NULL);
    CREATE TABLE {s}.tool_use(
        run text NOT NULL, tool text NOT NULL, calls bigint NOT NULL, failed bigint NOT NULL, elapsed float8 NOT NULL,
        PRIMARY KEY(run, tool));
    CREATE TABLE {s}.annotations(run text PRIMARY KEY, note text NOT NULL, thumb text NOT NULL);
    CREATE TABLE {s}.tags(run text NOT NULL, tag text NOT NULL, PRIMARY KEY(run, tag));
    """
TITLES = "ALTER TABLE {s}.annotations ADD COLUMN title text NOT NULL DEFAULT ''"
_LONG = f"length(r.question) >= {QUESTION_CHARS} AND l.type = 'run_started'"
WORDS = sql.Words(
    updated="coalesce((SELECT time FROM {s}records AS l WHERE l.run = r.run ORDER BY seq DESC LIMIT 1), r.created)",
    records="coalesce((SELECT max(seq) + 1 FROM {s}records AS l WHERE l.run = r.run), 0)",
    tags="(SELECT CAST(json_agg(tag) AS text) FROM {s}tags AS t WHERE t.run = r.run)",
    lower="lower",
    driven="SELECT jsonb_array_elements_text(CAST(:driven AS jsonb))",
    bucket="CAST(floor(r.created / :span) AS bigint)",
    begins="starts_with(r.run, :prefix)",
    text_records=f"SELECT 1 FROM {{s}}records AS l WHERE l.run = r.run AND (l.type IN {SAID!r} OR ({_LONG}))",
    like="ILIKE",
)
_TYPES = {
    "run": "text", "tool": "text", "note": "text", "thumb": "text", "title": "text", "tag": "text", "text": "text",
    "driven": "text", "prefix": "text",
    "cost": "float8", "elapsed": "float8", "created": "float8", "since": "float8", "until": "float8", "span": "float8",
    "conversation": "text", "parent": "text", "user": "text", "agent": "text", "model": "text", "status": "text",
    "stop_reason": "text",
}  # fmt: skip


def _type_of(name: str) -> str:
    return "text" if name.startswith("said_") else _TYPES.get(name, "bigint")


class Connection(Protocol):
    async def fetch(self, query: str, *args: object) -> list[Any]: ...


class Catalog:
    """The statements, for the tables in one database schema."""

    def __init__(self, schema: str) -> None:
        self._place = f'"{schema}".'

    async def _ask(self, con: Connection, statement: str, values: Mapping[str, Any] | None = None) -> list[Any]:
        """`:name` becomes the number of a parameter, with its type: Postgres cannot always infer that."""
        names: list[str] = []

        def number(match: re.Match[str]) -> str:
            name = match[1]
            if name not in names:
                names.append(name)
            return f"CAST(${names.index(name) + 1} AS {_type_of(name)})"

        text = re.sub(r":([a-z_]+)", number, statement.replace("{s}", self._place))
        return await con.fetch(text, *((values or {})[name] for name in names))

    async def list_runs(
        self, con: Connection, only: RunFilter, driven: Sequence[str], limit: int, after: str
    ) -> list[RunInfo]:
        rows = await self._ask(con, *sql.list_runs(only, WORDS, driven, limit, after))
        return [sql.info_of(tuple(row), driven) for row in rows]

    async def info(self, con: Connection, run_id: str, driven: Sequence[str]) -> RunInfo:
        rows = await self._ask(con, *sql.one_run(run_id, WORDS))
        if not rows:
            raise not_found(run_id)
        return sql.info_of(tuple(rows[0]), driven)

    async def overview(self, con: Connection, only: RunFilter, driven: Sequence[str]) -> Overview:
        condition, values = sql.where(only, WORDS, driven)

        async def ask(statement: str, **more: float) -> list[Any]:
            return await self._ask(con, statement, {**values, **more})

        (total,) = await ask(sql.totals(condition))
        ended, first, last = total[1], total[-2], total[-1]
        span = span_of(first or 0.0, last or 0.0)
        elapsed = [
            (await ask(sql.nth_elapsed(condition), nth=nth))[0][0] if ended else 0.0 for nth in sql.positions(ended)
        ]
        running, more = sql.where({**only, "status": "running"}, WORDS, driven)
        same = only.get("status", "") in ("", "running")
        answers = sql.Answers(
            total=tuple(total),
            statuses=await ask(sql.counted("r.status", condition)),
            reasons=await ask(sql.counted("r.stop_reason", condition)),
            thumbs=await ask(sql.counted("a.thumb", condition)),
            tags=await ask(sql.tags_counted(condition)),
            agents=await ask(sql.grouped("agent", condition)),
            models=await ask(sql.grouped("model", condition)),
            tools=await ask(sql.tools(condition)),
            spans=await ask(sql.by_time(condition, WORDS), span=span),
            span=span,
            elapsed=(elapsed[0], elapsed[1]),
            driven=(await self._ask(con, sql.totals(running), more))[0][0] if same and driven else 0,
            pending=(await self._ask(con, sql.COUNT_UNSUMMARISED))[0][0],
        )
        return sql.overview_of(answers)

    async def unsummarised(self, con: Connection, limit: int) -> list[str]:
        return [row[0] for row in await self._ask(con, sql.LIST_UNSUMMARISED, {"limit": limit})]

    async def store_summary(
        self, con: Connection, run_id: str, summary: RunSummary, tools: Mapping[str, ToolUse]
    ) -> None:
        for statement, values in sql.store_summary(run_id, summary, tools):
            await self._ask(con, statement, values)

    async def annotate(
        self,
        con: Connection,
        info: RunInfo,
        tags: Sequence[str] | None,
        note: str | None,
        thumb: Thumb | None,
        title: str | None,
    ) -> RunInfo:
        noted = changed_annotations(info, tags, note, thumb, title)
        for statement, values in sql.store_annotations(info.run_id, noted):
            await self._ask(con, statement, values)
        return with_annotations(info, noted)
