"""Full-text search over runs: questions, answers, messages, results of tools."""

from __future__ import annotations

import time
from typing import Annotated

from msgspec import Meta, Struct
from starlette.responses import Response

from treadle._inspect.search import first_match
from treadle._server.api.operations import Call, Routes, answer
from treadle._server.live.owned import run_of
from treadle._types.errors import RunNotFoundError

routes = Routes("conversations")

_PAGE = 50
MOST_SECONDS = 3.0
"""How long one search may take; what it has found by then is the answer."""


class SearchQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    q: Annotated[str, Meta(min_length=2, max_length=200)]
    """Words that all have to be in one text, in any case."""
    limit: Annotated[int, Meta(ge=1, le=100)] = 30


class Hit(Struct, frozen=True):
    """A text with all the words. One for each run: the first in its log."""

    run_id: str
    conversation: str
    question: str
    where: str
    """question | message | tool | answer"""
    tool: str
    """The tool whose result it is."""
    excerpt: str
    updated: float


class SearchResult(Struct, frozen=True):
    hits: list[Hit]
    """Newest first."""
    searched: int
    """How many runs were looked at, of those that may have the words."""
    complete: bool
    """False when there may be more."""


@routes("GET", "/api/search", SearchResult, query=SearchQuery)
async def search(call: Call) -> Response:
    """Find runs whose question, messages, tool results or answer have all the words."""
    query: SearchQuery = call.query
    words = query.q.casefold().split()
    hits: list[Hit] = []
    searched, after, more = 0, "", bool(words)
    deadline = time.monotonic() + MOST_SECONDS
    while more and len(hits) < query.limit and time.monotonic() < deadline:
        # The journal leaves out most runs without the words; the logs of the others are read.
        runs = await call.runs.list(said=query.q, limit=_PAGE, after=after)
        more = len(runs) == _PAGE
        for info in runs:
            if len(hits) >= query.limit or time.monotonic() > deadline:
                more = True
                break
            after = info.cursor
            try:
                records = await call.hub.records(run_of(info))
            except RunNotFoundError:  # deleted meanwhile
                continue
            searched += 1
            if (match := first_match(records, words)) is not None:
                name = info.conversation or info.run_id
                found = (match.where, match.tool, match.excerpt)
                hits.append(Hit(info.run_id, name, info.title or info.question, *found, info.updated))
    return answer(SearchResult(hits, searched, complete=not more))
