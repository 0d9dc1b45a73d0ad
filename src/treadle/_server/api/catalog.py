"""Operations on many runs: a list in pages, sums over all of them, and what people note about one."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from treadle._journal.catalog.values import MAX_NOTE, MAX_TAG, MAX_TAGS, MAX_TITLE, Overview, RunFilter, Thumb
from treadle._server.api.bodies import RunLine, line, lines
from treadle._server.api.operations import Call, Routes, answer

routes = Routes("runs")

Moment = Annotated[float, Meta(ge=0, le=1e12)]
Word = Annotated[str, Meta(max_length=200)]


class FilterQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Only the runs that fit every field given."""

    status: Literal["", "running", "idle", "paused", "parked", "finished"] = ""
    conversation: Annotated[str, Meta(max_length=64)] = ""
    agent: Word = ""
    model: Word = ""
    tag: Annotated[str, Meta(max_length=MAX_TAG)] = ""
    thumb: Literal["", "up", "down"] = ""
    stop_reason: Word = ""
    text: Word = ""
    """Part of the question, the title, the note or the id."""
    since: Moment = 0.0
    """Started at this time (seconds since 1970) or later."""
    until: Moment = 0.0
    """Started before this time."""


class ListQuery(FilterQuery, frozen=True, kw_only=True, forbid_unknown_fields=True):
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50
    after: Annotated[str, Meta(max_length=80)] = ""
    """`next` of the page before."""
    parent: Word = ""
    """The runs inside this one, instead of those inside none."""


class RunList(Struct, frozen=True):
    runs: list[RunLine]
    next: str
    """Give it as `after` for the next page; empty on the last one."""


class Noted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Changes of a run's notes; a field that is left out stays as it is."""

    tags: Annotated[list[Annotated[str, Meta(max_length=MAX_TAG)]], Meta(max_length=MAX_TAGS)] | None = None
    note: Annotated[str, Meta(max_length=MAX_NOTE)] | None = None
    thumb: Thumb | None = None
    title: Annotated[str, Meta(max_length=MAX_TITLE)] | None = None
    """What a list calls it; on the first run of a conversation, the title of that. Empty: its question."""


def _only(query: FilterQuery) -> RunFilter:
    only: RunFilter = {}
    only.update({name: getattr(query, name) for name in FilterQuery.__struct_fields__})  # pyright: ignore[reportCallIssue, reportArgumentType]
    return only


@routes("GET", "/api/runs", RunList, query=ListQuery, errors=(404,))
async def list_runs(call: Call) -> Response:
    """List runs, newest first, in pages."""
    query: ListQuery = call.query
    most, only = query.limit + 1, _only(query)
    if query.parent:
        runs = await call.runs.inside(await call.runs.owned(query.parent), limit=most, after=query.after, **only)
    else:
        runs = await call.runs.list(limit=most, after=query.after, **only)
    page = runs[: query.limit]
    return answer(RunList(lines(page), page[-1].cursor if len(runs) > len(page) else ""))


@routes("GET", "/api/overview", Overview, query=FilterQuery)
async def overview(call: Call) -> Response:
    """Count and sum up runs, by agent, model, tool and time."""
    return answer(await call.runs.overview(**_only(call.query)))


@routes("POST", "/api/runs/{run_id}/annotations", RunLine, body=Noted, errors=(404,))
async def annotate_run(call: Call) -> Response:
    """Set the tags, the note, the thumb (up, down) or the title of a run."""
    run_id = await call.owned_run()
    noted: Noted = call.body
    info = await call.runs.annotate(run_id, **msgspec.structs.asdict(noted))
    return answer(line(info))
