"""The statements about many runs, for SQLite and Postgres alike: `:name` is a value, `{s}` the place of the tables.

Sums are made by the database, over one short row per run; no log is read for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from treadle._journal.base import RunInfo
from treadle._journal.catalog.values import (
    Annotations,
    Group,
    Overview,
    RunFilter,
    RunSummary,
    Span,
    ToolGroup,
    ToolUse,
    ascii_parts,
    check_filter,
    cursor_of,
    read_cursor,
)


class Words(Struct, frozen=True):
    """The SQL fragments that differ between the two databases."""

    updated: str
    records: str
    tags: str
    lower: str
    driven: str
    bucket: str
    begins: str
    """Whether an id begins with `:prefix`."""
    text_records: str
    """The records `l` of the run `r` that hold text of a conversation, up to the condition on their `l.data`."""
    like: str
    """LIKE that ignores case."""


Statement = tuple[str, dict[str, Any]]

_SUMS = "count(s.run), sum(s.success), sum(s.input_tokens + s.output_tokens), sum(s.cost)"
_RUNS = "{s}runs AS r"
_JOINED = _RUNS + " LEFT JOIN {s}summaries AS s ON s.run = r.run"
_NOTED = " LEFT JOIN {s}annotations AS a ON a.run = r.run"
_SUMMARY = ", ".join(f"s.{name}" for name in RunSummary.__struct_fields__)
_EQUAL = ("conversation", "parent", "user", "agent", "model", "stop_reason")


def where(only: RunFilter, words: Words, driven: Sequence[str]) -> Statement:
    """Build the condition and its values; `driven` are the runs that have a driver now."""
    only = check_filter(only)
    conditions, values = ["1 = 1"], dict[str, Any]()
    for name in _EQUAL:
        if (value := only.get(name)) is not None:
            conditions.append(f'r."{name}" = :{name}')
            values[name] = value
    if status := only.get("status"):
        conditions.append("r.status = :status")
        values["status"] = "running" if status == "idle" else status
        if status in ("running", "idle"):
            conditions.append(f"r.run {'NOT ' if status == 'idle' else ''}IN ({words.driven})")
            values["driven"] = msgspec.json.encode(driven).decode()
    if since := only.get("since"):
        conditions.append("r.created >= :since")
        values["since"] = since
    if until := only.get("until"):
        conditions.append("r.created < :until")
        values["until"] = until
    if tag := only.get("tag"):
        conditions.append("EXISTS (SELECT 1 FROM {s}tags WHERE tags.run = r.run AND tag = :tag)")
        values["tag"] = tag
    if prefix := only.get("prefix"):
        conditions.append(words.begins)
        values["prefix"] = prefix
    if parts := ascii_parts(only.get("said", "")):
        marks = [f":said_{place}" for place in map(_letter, range(len(parts)))]
        values |= {mark[1:]: _pattern(part) for mark, part in zip(marks, parts, strict=True)}
        in_records, in_question = (
            " AND ".join(f"{place} {words.like} {mark} ESCAPE '!'" for mark in marks)
            for place in ("l.data", "r.question")
        )
        conditions.append(f"(({in_question}) OR EXISTS ({words.text_records} AND {in_records}))")
    if thumb := only.get("thumb"):
        conditions.append("a.thumb = :thumb")
        values["thumb"] = thumb
    if text := only.get("text"):
        places = (
            f"{words.lower}(r.question)",
            *(f"{words.lower}(coalesce(a.{name}, ''))" for name in ("title", "note")),
            "r.run",
        )
        conditions.append("(" + " OR ".join(f"{place} LIKE :text ESCAPE '!'" for place in places) + ")")
        values["text"] = _pattern(text)
    return " AND ".join(conditions), values


def _pattern(text: str) -> str:
    return "%" + text.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_") + "%"


def _letter(place: int) -> str:
    """Names of values have letters only; a search has few words."""
    return "abcdefghijklmnopqrstuvwxyz"[place % 26] * (place // 26 + 1)


def list_runs(only: RunFilter, words: Words, driven: Sequence[str], limit: int, after: str = "") -> Statement:
    condition, values = where(only, words, driven)
    values["limit"] = limit
    if after:
        condition += " AND (r.created < :created OR (r.created = :created AND r.n < :n))"
        values["created"], values["n"] = read_cursor(after)
    return f"{_info(words)} WHERE {condition} ORDER BY r.created DESC, r.n DESC LIMIT :limit", values


def one_run(run_id: str, words: Words) -> Statement:
    return f"{_info(words)} WHERE r.run = :run", {"run": run_id}


def _info(words: Words) -> str:
    return (
        'SELECT r.run, r.parent, r.agent, r.model, r.question, r.conversation, r."user", r.status, r.stop_reason, '
        f"r.created, {words.updated}, {words.records}, r.n, s.run, {_SUMMARY}, coalesce(a.note, ''), "
        f"coalesce(a.thumb, ''), coalesce(a.title, ''), {words.tags} FROM {_JOINED}{_NOTED}"
    )


def info_of(row: Sequence[Any], driven: Sequence[str]) -> RunInfo:
    facts, (number, ended), summary, (note, thumb, title, tags) = row[:12], row[12:14], row[14:-4], row[-4:]
    info = RunInfo(*facts)
    return msgspec.structs.replace(
        info,
        status="idle" if info.status == "running" and info.run_id not in driven else info.status,
        cursor=cursor_of(info.created, number),
        summary=None if ended is None else RunSummary(bool(summary[0]), *summary[1:]),
        note=note,
        thumb=thumb,
        title=title,
        tags=tuple(sorted(msgspec.json.decode(tags or b"[]", type=list[str]))),
    )


# Sums


def totals(condition: str) -> str:
    sums = ", ".join(f"sum(s.{name})" for name in RunSummary.__struct_fields__[2:])
    return (
        f"SELECT count(*), count(s.run), sum(s.success), {sums}, min(r.created), max(r.created) "
        f"FROM {_JOINED}{_NOTED} WHERE {condition}"
    )


def counted(column: str, condition: str) -> str:
    return f"SELECT {column}, count(*) FROM {_JOINED}{_NOTED} WHERE {condition} GROUP BY {column}"


def tags_counted(condition: str) -> str:
    return (
        f"SELECT t.tag, count(*) FROM {{s}}tags AS t JOIN {_RUNS} ON r.run = t.run"
        f"{_NOTED} WHERE {condition} GROUP BY t.tag ORDER BY count(*) DESC, t.tag LIMIT 100"
    )


def grouped(column: str, condition: str) -> str:
    return (
        f"SELECT r.{column}, count(*), {_SUMS}, sum(s.elapsed) FROM {_JOINED}{_NOTED} WHERE {condition} "
        f"GROUP BY r.{column} ORDER BY count(*) DESC, r.{column} LIMIT 50"
    )


def tools(condition: str) -> str:
    return (
        "SELECT u.tool, count(*), sum(u.calls), sum(u.failed), sum(u.elapsed) FROM {s}tool_use AS u "
        f"JOIN {_RUNS} ON r.run = u.run{_NOTED} WHERE {condition} "
        "GROUP BY u.tool ORDER BY sum(u.calls) DESC, u.tool LIMIT 50"
    )


def by_time(condition: str, words: Words) -> str:
    return f"SELECT {words.bucket}, count(*), {_SUMS} FROM {_JOINED}{_NOTED} WHERE {condition} GROUP BY 1 ORDER BY 1"


def nth_elapsed(condition: str) -> str:
    return (
        f"SELECT s.elapsed FROM {_JOINED}{_NOTED} WHERE {condition} AND s.run IS NOT NULL "
        "ORDER BY s.elapsed LIMIT 1 OFFSET :nth"
    )


_UNSUMMARISED = f"FROM {_JOINED} WHERE r.status = 'finished' AND s.run IS NULL"
COUNT_UNSUMMARISED = f"SELECT count(*) {_UNSUMMARISED}"
LIST_UNSUMMARISED = f"SELECT r.run {_UNSUMMARISED} ORDER BY r.created DESC LIMIT :limit"


# Changes


def store_summary(run_id: str, summary: RunSummary, tools: Mapping[str, ToolUse]) -> list[Statement]:
    names = RunSummary.__struct_fields__
    values = {**msgspec.structs.asdict(summary), "success": int(summary.success), "run": run_id}
    columns, marks = ", ".join(names), ", ".join(f":{name}" for name in names)
    changed = ", ".join(f"{name} = excluded.{name}" for name in names)
    statements: list[Statement] = [
        (f"INSERT INTO {{s}}summaries(run, {columns}) SELECT run, {marks} FROM {{s}}runs WHERE run = :run "
         f"ON CONFLICT(run) DO UPDATE SET {changed}", values),
        ("DELETE FROM {s}tool_use WHERE run = :run", {"run": run_id}),
    ]  # fmt: skip
    for tool, use in tools.items():
        statements.append(
            (
                "INSERT INTO {s}tool_use(run, tool, calls, failed, elapsed) "
                "SELECT run, :tool, :calls, :failed, :elapsed FROM {s}runs WHERE run = :run",
                {"run": run_id, "tool": tool.replace("\0", ""), **msgspec.structs.asdict(use)},
            )
        )
    return statements


def store_annotations(run_id: str, noted: Annotations) -> list[Statement]:
    statements: list[Statement] = [
        ("INSERT INTO {s}annotations(run, note, thumb, title) VALUES(:run, :note, :thumb, :title) "
         "ON CONFLICT(run) DO UPDATE SET note = excluded.note, thumb = excluded.thumb, title = excluded.title",
         {"run": run_id, "note": noted.note, "thumb": noted.thumb, "title": noted.title}),
        ("DELETE FROM {s}tags WHERE run = :run", {"run": run_id}),
    ]  # fmt: skip
    insert = "INSERT INTO {s}tags(run, tag) VALUES(:run, :tag)"
    return [*statements, *((insert, {"run": run_id, "tag": tag}) for tag in noted.tags)]


class Answers(Struct):
    """The rows from which an `Overview` is built."""

    total: Sequence[Any]
    statuses: Sequence[Sequence[Any]]
    reasons: Sequence[Sequence[Any]]
    thumbs: Sequence[Sequence[Any]]
    tags: Sequence[Sequence[Any]]
    agents: Sequence[Sequence[Any]]
    models: Sequence[Sequence[Any]]
    tools: Sequence[Sequence[Any]]
    spans: Sequence[Sequence[Any]]
    span: float
    elapsed: tuple[float, float]
    driven: int
    pending: int


def overview_of(answers: Answers) -> Overview:
    runs, ended, succeeded, requests, calls, failed, tokens_in, tokens_out, cached, cost, elapsed, *_ = answers.total
    statuses = {str(status): int(count) for status, count in answers.statuses}
    if idle := statuses.pop("running", 0) - answers.driven:
        statuses["idle"] = idle
    if answers.driven:
        statuses["running"] = answers.driven
    return Overview(
        runs=runs,
        statuses=statuses,
        stop_reasons={str(reason): int(count) for reason, count in answers.reasons if reason},
        ended=ended,
        succeeded=int(succeeded or 0),
        requests=int(requests or 0),
        tool_calls=int(calls or 0),
        failed_calls=int(failed or 0),
        input_tokens=int(tokens_in or 0),
        output_tokens=int(tokens_out or 0),
        cached_tokens=int(cached or 0),
        cost=cost,
        elapsed=elapsed or 0.0,
        median_elapsed=answers.elapsed[0],
        slow_elapsed=answers.elapsed[1],
        thumbs={str(thumb): int(count) for thumb, count in answers.thumbs if thumb},
        tags={str(tag): int(count) for tag, count in answers.tags},
        agents=tuple(_group(row) for row in answers.agents),
        models=tuple(_group(row) for row in answers.models),
        tools=tuple(ToolGroup(n, int(r), int(c), int(f), float(e)) for n, r, c, f, e in answers.tools),
        span=answers.span,
        spans=tuple(Span(row[0] * answers.span, int(row[1]), *_sums(row[3:6])) for row in answers.spans),
        pending=answers.pending,
    )


def _group(row: Sequence[Any]) -> Group:
    return Group(str(row[0]), int(row[1]), *_sums(row[3:6]), float(row[6] or 0.0))


def _sums(row: Sequence[Any]) -> tuple[int, int, float | None]:
    return int(row[0] or 0), int(row[1] or 0), row[2]


def positions(ended: int) -> tuple[int, int]:
    """Return the positions of the median and of the 95th percentile among the sorted times."""
    return ended // 2, min(ended * 19 // 20, max(ended - 1, 0))
