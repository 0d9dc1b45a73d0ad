"""Operations that put two things side by side: two runs, and each request beside the one before it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct
from starlette.responses import Response

from treadle._flows.compare import RunComparison, compare_records
from treadle._flows.prefixes import PrefixUse, prefixes
from treadle._server.api.operations import Call, Routes, answer

routes = Routes("inspector")


class CompareQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    first: Annotated[str, Meta(min_length=1, max_length=200)]
    second: Annotated[str, Meta(min_length=1, max_length=200)]


class PrefixList(Struct, frozen=True):
    requests: list[PrefixUse]


@routes("GET", "/api/compare", RunComparison, query=CompareQuery, errors=(404,))
async def compare_runs(call: Call) -> Response:
    """How two runs differ: what they were given, step by step, and what came of them."""
    query: CompareQuery = call.query
    for run_id in (query.first, query.second):
        await call.hub.owned(run_id, call.principal.user)
    return answer(compare_records(await call.hub.records(query.first), await call.hub.records(query.second)))


@routes("GET", "/api/runs/{run_id}/prefixes", PrefixList, errors=(404,))
async def run_prefixes(call: Call) -> Response:
    """What each request had in common with the one before it, and where and why that broke."""
    run_id = call.path("run_id")
    await call.hub.owned(run_id, call.principal.user)
    return answer(PrefixList(prefixes(await call.hub.records(run_id))))
