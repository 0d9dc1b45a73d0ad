"""The statements about whole runs, the same for every journal: `:name` is a value, `{s}` the place of the tables.

Each operation yields its statements and is sent their rows, so that SQLite and Postgres run it in their own ways. Sums
are made by the database, over one short row per run; no log is read for them.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from time import time as current_time
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from treadle._journal.base import RunInfo, annotations_of
from treadle._journal.catalog.values import (
    Annotations,
    Fits,
    Group,
    Notes,
    Overview,
    RequestNote,
    RunFilter,
    RunSummary,
    Span,
    ToolGroup,
    ToolUse,
    ascii_parts,
    check_filter,
    clean_annotations,
    cursor_of,
    read_cursor,
    span_of,
)
from treadle._journal.rows import not_found
from treadle._types.usage import NO_USAGE, Usage


class Words(Struct, frozen=True):
    """The SQL fragments that differ between the two databases."""

    updated: str
    records: str
    tags: str
    lower: str
    listed: str
    """The items of the JSON list `:listed`."""
    bucket: str
    begins: str
    """Whether an id begins with `:prefix`."""
    text_records: str
    """The records `l` of the run `r` that hold text of a conversation, up to the condition on their `l.data`."""
    like: str
    """LIKE that ignores case."""


T = TypeVar("T")
Statement = tuple[str, dict[str, Any]]
Steps = Generator[Statement, list[Any], T]

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
            conditions.append(f"r.run {'NOT ' if status == 'idle' else ''}IN ({words.listed})")
            values["listed"] = msgspec.json.encode(driven).decode()
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


def list_runs(
    only: RunFilter, words: Words, driven: Sequence[str], limit: int, after: str = ""
) -> Steps[list[RunInfo]]:
    condition, values = where(only, words, driven)
    values["limit"] = limit
    if after:
        condition += " AND (r.created < :created OR (r.created = :created AND r.n < :n))"
        values["created"], values["n"] = read_cursor(after)
    rows = yield f"{_info(words)} WHERE {condition} ORDER BY r.created DESC, r.n DESC LIMIT :limit", values
    return [_info_of(tuple(row), driven) for row in rows]


def info(run_id: str, words: Words, driven: Sequence[str]) -> Steps[RunInfo]:
    rows = yield f"{_info(words)} WHERE r.run = :run", {"run": run_id}
    if not rows:
        raise not_found(run_id)
    return _info_of(tuple(rows[0]), driven)


def _info(words: Words) -> str:
    return (
        'SELECT r.run, r.parent, r.agent, r.model, r.question, r.conversation, r."user", r.status, r.stop_reason, '
        f"r.created, {words.updated}, {words.records}, r.n, s.run, {_SUMMARY}, coalesce(a.note, ''), "
        f"coalesce(a.thumb, ''), coalesce(a.title, ''), {words.tags} FROM {_JOINED}{_NOTED}"
    )


def _info_of(row: Sequence[Any], driven: Sequence[str]) -> RunInfo:
    facts, (number, ended), summary, (note, thumb, title, tags) = row[:12], row[12:14], row[14:-4], row[-4:]
    known = RunInfo(*facts)
    return msgspec.structs.replace(
        known,
        status="idle" if known.status == "running" and known.run_id not in driven else known.status,
        cursor=cursor_of(known.created, number),
        summary=None if ended is None else RunSummary(bool(summary[0]), *summary[1:]),
        note=note,
        thumb=thumb,
        title=title,
        tags=tuple(sorted(msgspec.json.decode(tags or b"[]", type=list[str]))),
    )


def expired(words: Words, before: float, keep: int, statuses: Sequence[str]) -> Steps[list[str]]:
    """The top-level runs in one of these states, the newest few left out, whose last record is older."""
    stored = ["running" if status == "idle" else status for status in statuses]
    rows = yield (
        f"SELECT run FROM (SELECT r.run, {words.updated} AS updated FROM {_RUNS} WHERE r.parent = '' "
        f"AND r.status IN ({words.listed}) ORDER BY r.created DESC, r.n DESC LIMIT {2**63 - 1} OFFSET :keep) AS old "
        "WHERE updated < :until",
        {"listed": msgspec.json.encode(stored).decode(), "keep": keep, "until": before},
    )
    return [row[0] for row in rows]


# Sums


def overview(only: RunFilter, words: Words, driven: Sequence[str]) -> Steps[Overview]:
    condition, values = where(only, words, driven)
    joined = f"FROM {_JOINED}{_NOTED} WHERE {condition}"
    sums = ", ".join(f"sum(s.{name})" for name in RunSummary.__struct_fields__[2:])
    totals = f"SELECT count(*), count(s.run), sum(s.success), {sums}, min(r.created), max(r.created)"
    (total,) = yield f"{totals} {joined}", values
    runs, ended, succeeded, requests, calls, failed, tokens_in, tokens_out, cached, cost, elapsed, first, last = total
    span = span_of(first or 0.0, last or 0.0)
    nth_elapsed = f"SELECT s.elapsed {joined} AND s.run IS NOT NULL ORDER BY s.elapsed LIMIT 1 OFFSET :nth"
    times = [0.0, 0.0]
    for index, nth in enumerate((ended // 2, min(ended * 19 // 20, ended - 1)) if ended else ()):
        times[index] = (yield nth_elapsed, {**values, "nth": nth})[0][0]
    statuses = {str(status): int(count) for status, count in (yield _counted("r.status", joined), values)}
    running, more = where({**only, "status": "running"}, words, driven)
    may_run = driven and only.get("status", "") in ("", "running")
    driven_now = f"SELECT count(*) FROM {_JOINED}{_NOTED} WHERE {running}"
    at_work = (yield driven_now, more)[0][0] if may_run else 0
    statuses |= {"idle": statuses.pop("running", 0) - at_work, "running": at_work}
    tags = (
        f"SELECT t.tag, count(*) FROM {{s}}tags AS t JOIN {_RUNS} ON r.run = t.run{_NOTED} WHERE {condition} "
        "GROUP BY t.tag ORDER BY count(*) DESC, t.tag LIMIT 100"
    )
    tools = (
        "SELECT u.tool, count(*), sum(u.calls), sum(u.failed), sum(u.elapsed) FROM {s}tool_use AS u "
        f"JOIN {_RUNS} ON r.run = u.run{_NOTED} WHERE {condition} "
        "GROUP BY u.tool ORDER BY sum(u.calls) DESC, u.tool LIMIT 50"
    )
    by_time = f"SELECT {words.bucket}, count(*), {_SUMS} {joined} GROUP BY 1 ORDER BY 1"
    return Overview(
        runs=runs,
        statuses={status: count for status, count in statuses.items() if count},
        stop_reasons={str(reason): n for reason, n in (yield _counted("r.stop_reason", joined), values) if reason},
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
        median_elapsed=times[0],
        slow_elapsed=times[1],
        thumbs={str(thumb): n for thumb, n in (yield _counted("a.thumb", joined), values) if thumb},
        tags={str(tag): n for tag, n in (yield tags, values)},
        agents=tuple(_group(row) for row in (yield _grouped("agent", joined), values)),
        models=tuple(_group(row) for row in (yield _grouped("model", joined), values)),
        tools=tuple(ToolGroup(n, int(r), int(c), int(f), float(e)) for n, r, c, f, e in (yield tools, values)),
        span=span,
        spans=tuple(Span(row[0] * span, int(row[1]), *_sums(row)) for row in (yield by_time, {**values, "span": span})),
        pending=(yield f"SELECT count(*) {_UNSUMMARISED}", {})[0][0],
    )


def _counted(column: str, joined: str) -> str:
    return f"SELECT {column}, count(*) {joined} GROUP BY {column}"


def _grouped(column: str, joined: str) -> str:
    ordered = f"GROUP BY r.{column} ORDER BY count(*) DESC, r.{column} LIMIT 50"
    return f"SELECT r.{column}, count(*), {_SUMS}, sum(s.elapsed) {joined} {ordered}"


def _group(row: Sequence[Any]) -> Group:
    return Group(str(row[0]), int(row[1]), *_sums(row), float(row[6] or 0.0))


def _sums(row: Sequence[Any]) -> tuple[int, int, float | None]:
    return int(row[3] or 0), int(row[4] or 0), row[5]


_UNSUMMARISED = f"FROM {_JOINED} WHERE r.status = 'finished' AND s.run IS NULL"


def unsummarised(limit: int) -> Steps[list[str]]:
    rows = yield f"SELECT r.run {_UNSUMMARISED} ORDER BY r.created DESC LIMIT :limit", {"limit": limit}
    return [row[0] for row in rows]


# Changes


def store_summary(run_id: str, summary: RunSummary, tools: Mapping[str, ToolUse]) -> Steps[None]:
    names = RunSummary.__struct_fields__
    values = {**msgspec.structs.asdict(summary), "success": int(summary.success), "run": run_id}
    columns, marks = ", ".join(names), ", ".join(f":{name}" for name in names)
    changed = ", ".join(f"{name} = excluded.{name}" for name in names)
    yield (
        f"INSERT INTO {{s}}summaries(run, {columns}) SELECT run, {marks} FROM {{s}}runs WHERE run = :run "
        f"ON CONFLICT(run) DO UPDATE SET {changed}", values
    )  # fmt: skip
    yield "DELETE FROM {s}tool_use WHERE run = :run", {"run": run_id}
    for tool, use in tools.items():
        yield (
            "INSERT INTO {s}tool_use(run, tool, calls, failed, elapsed) "
            "SELECT run, :tool, :calls, :failed, :elapsed FROM {s}runs WHERE run = :run",
            {"run": run_id, "tool": tool.replace("\0", ""), **msgspec.structs.asdict(use)},
        )


def annotate(run_id: str, words: Words, notes: Notes) -> Steps[None]:
    before = yield from info(run_id, words, ())
    yield from store_annotations(run_id, clean_annotations(annotations_of(before), notes))


def store_annotations(run_id: str, noted: Annotations) -> Steps[None]:
    yield (
        "INSERT INTO {s}annotations(run, note, thumb, title) VALUES(:run, :note, :thumb, :title) "
        "ON CONFLICT(run) DO UPDATE SET note = excluded.note, thumb = excluded.thumb, title = excluded.title",
        {"run": run_id, "note": noted.note, "thumb": noted.thumb, "title": noted.title},
    )
    yield "DELETE FROM {s}tags WHERE run = :run", {"run": run_id}
    for tag in noted.tags:
        yield "INSERT INTO {s}tags(run, tag) VALUES(:run, :tag)", {"run": run_id, "tag": tag}


# Which run answers which request of a client. The key of a note is made by the server from the request.


def note_request(key: str, note: RequestNote, since: float, alone: bool) -> Steps[RequestNote]:
    time = note.time or current_time()
    yield "DELETE FROM {s}requests WHERE time < :since", {"since": since}
    if alone and (earlier := (yield from noted_requests(key, since))):
        return earlier[0]
    yield (
        "INSERT INTO {s}requests(key, run, content, time) VALUES(:key, :run, :content, :time) "
        "ON CONFLICT(key, run) DO UPDATE SET content = excluded.content, time = excluded.time",
        {"key": key, "run": note.run_id, "content": note.content, "time": time},
    )
    return RequestNote(note.run_id, note.content, time)


def noted_requests(key: str, since: float) -> Steps[list[RequestNote]]:
    sql = "SELECT run, content, time FROM {s}requests WHERE key = :key AND time >= :since ORDER BY time, run"
    return [RequestNote(*row) for row in (yield sql, {"key": key, "since": since})]


def forget_request(key: str, run_id: str) -> Steps[None]:
    yield "DELETE FROM {s}requests WHERE key = :key AND run = :run", {"key": key, "run": run_id}


# What was spent under a key (a tenant on a day), by all processes that share a journal.

_MEMORY = 400 * 86400.0
"""Seconds that sums of days and months are stored."""


def spent(keys: Sequence[str]) -> Steps[dict[str, Usage]]:
    found: dict[str, Usage] = {}
    for key in keys:
        if rows := (yield "SELECT usage FROM {s}spending WHERE key = :key", {"key": key}):
            found[key] = msgspec.json.decode(rows[0][0], type=Usage)
    return found


def spend(keys: Sequence[str], amount: Usage, fits: Fits) -> Steps[bool]:
    """Add an amount to all sums, or to none. Nobody else may do the same meanwhile."""
    stored = yield from spent(keys)
    sums = {key: stored.get(key, NO_USAGE) + amount for key in keys}
    if not all(fits(key, total) for key, total in sums.items()):
        return False
    now = current_time()
    if len(stored) < len(sums):
        old = "DELETE FROM {s}spending WHERE time < :since AND (key LIKE 'day:%' OR key LIKE 'month:%')"
        yield old, {"since": now - _MEMORY}
    for key, total in sums.items():
        yield (
            "INSERT INTO {s}spending(key, usage, time) VALUES(:key, :usage, :time) "
            "ON CONFLICT(key) DO UPDATE SET usage = excluded.usage, time = excluded.time",
            {"key": key, "usage": msgspec.json.encode(total).decode(), "time": now},
        )
    return True
