"""Operations on conversations: the runs that share one id."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from treadle._agent.conversation import history_of
from treadle._journal.base import RunInfo
from treadle._journal.catalog.values import MAX_TITLE
from treadle._server.api import bodies as b
from treadle._server.api.operations import Call, Routes, answer
from treadle._server.errors import bad_request, conflict, not_found
from treadle._server.exported import html_of
from treadle._server.live.branches import OwnedRun, parents
from treadle._server.live.owned import run_of
from treadle._types.state import fold

routes = Routes("conversations")


class Title(Struct, frozen=True, forbid_unknown_fields=True):
    title: Annotated[str, Meta(max_length=MAX_TITLE)]


class Branch(Struct, frozen=True, forbid_unknown_fields=True):
    until: Annotated[str, Meta(max_length=64, pattern="^[A-Za-z0-9_.-]*$")] = ""
    """The last run of the branch; the newest of the conversation if it is left out."""


async def conversation_so_far(call: Call, conversation: str, follows: str = "") -> tuple[OwnedRun, list[Any]] | None:
    """Return the run that a new one of this conversation continues (the newest, if none is named), and its history.

    Return None if there is no such conversation.
    """
    runs = {run_of(info): info for info in await conversation_runs(call, conversation) if not info.undone}
    if not runs:
        return None
    wanted = (await call.runs.find(follows) or follows) if follows else next(iter(runs))
    last = next((run for run in runs if run == wanted), None)
    if last is None:
        raise bad_request(f"`follows` is {follows!r}, which is no run of this conversation")
    if runs[last].status != "finished":
        raise conflict(
            f"run {last} of this conversation has not finished: send it a message, or cancel it first", again=None
        )
    return last, history_of(fold(await call.hub.records(last)))


async def conversation_runs(call: Call, name: str, limit: int = 1000) -> list[RunInfo]:
    """Return the runs, newest first, also those that were taken back.

    A run without a conversation (not started by a server) is the first of one with its own id.
    """
    runs = await call.runs.list(conversation=name, limit=limit) if name else []
    if len(runs) == limit or any(info.run_id == name for info in runs):
        return runs
    if (first := await call.runs.find(name)) is not None:
        if not runs and first != name:  # the client's own name for the run that the conversation began with
            return await conversation_runs(call, first, limit)
        facts = await call.runs.facts(first)
        if not facts.conversation and not facts.parent:
            runs.append(await call.runs.info(first))
    return runs


def group(groups: Mapping[str, Sequence[RunInfo]], firsts: Mapping[str, RunInfo]) -> list[b.Conversation]:
    """Sort conversations by their last change; `firsts` are the first runs of those that begin further back."""
    conversations = [
        b.Conversation(
            id=name,
            title=_title(firsts.get(name, runs[-1])),
            agent=runs[0].agent,
            runs=len(runs),
            last_run=runs[0].run_id,
            status=runs[0].status,
            created=runs[-1].created,
            updated=max(run.updated for run in runs),
        )
        for name, runs in groups.items()
    ]
    return sorted(conversations, key=lambda conversation: -conversation.updated)


@routes("GET", "/api/conversations", b.ConversationList, query=b.ConversationQuery)
async def list_conversations(call: Call) -> Response:
    """List conversations, the one that changed last first."""
    query: b.ConversationQuery = call.query
    runs = await call.runs.list(limit=query.limit)
    groups: dict[str, list[RunInfo]] = {}
    for info in runs:
        if not info.undone:
            groups.setdefault(info.conversation or info.run_id, []).append(info)
    firsts: dict[str, RunInfo] = {}
    if len(runs) == query.limit:
        for name in groups.keys() - {info.run_id for info in runs}:
            if (first := await call.runs.find(name)) is not None:  # it need not be named after its first run
                firsts[name] = await call.runs.info(first)
    return answer(b.ConversationList(group(groups, firsts)))


def _title(first: RunInfo) -> str:
    return first.title or " ".join(first.question.split())[:120]


@routes("GET", "/api/conversations/{conversation_id}", b.ConversationBody, query=b.TurnsQuery, errors=(404,))
async def get_conversation(call: Call) -> Response:
    """List the runs of a conversation, oldest first."""
    name, query = call.path("conversation_id"), call.query
    newest = await _existing_conversation(call, name, query.limit + 1)
    runs = [info for info in newest[query.limit - 1 :: -1] if not info.undone]
    before = await parents(runs, call.hub.facts)
    turns = {info.run_id: run_of(info) for info in runs}
    lines = [
        b.TurnLine(
            **msgspec.structs.asdict(line),
            follows=before[line.run_id],
            files=[b.QuestionFile(*file) for file in (await call.runs.facts(turns[line.run_id])).files],
        )
        for line in b.lines(runs)
    ]
    return answer(b.ConversationBody(name, lines, more=len(newest) > query.limit))


@routes("GET", "/api/conversations/{conversation_id}/export", "text/html", query=Branch, errors=(404,))
async def export_conversation(call: Call) -> Response:
    """Export a branch of a conversation as one page of HTML.

    The branch is the one that leads to the run `until`, or to the newest.
    """
    name, query = call.path("conversation_id"), call.query
    runs = [info for info in (await _existing_conversation(call, name))[::-1] if not info.undone]
    before = await parents(runs, call.hub.facts)
    at = query.until or runs[-1].run_id
    if at not in before:
        raise bad_request(f"`until` is {at!r}, which is no run of this conversation")
    turns, path = {info.run_id: run_of(info) for info in runs}, list[OwnedRun]()
    while at in before and len(path) < len(runs):
        path.append(turns[at])
        at = before[at]
    records = [await call.hub.records(run_id) for run_id in reversed(path)]
    page = await asyncio.to_thread(html_of, records, _title(runs[0]))
    headers = {"content-disposition": 'attachment; filename="conversation.html"', "content-security-policy": "sandbox"}
    return Response(page, 200, headers, media_type="text/html")


@routes("POST", "/api/conversations/{conversation_id}/title", Title, body=Title, errors=(404,))
async def rename_conversation(call: Call) -> Response:
    """Rename a conversation; an empty title makes it its first question again."""
    runs = await _existing_conversation(call, call.path("conversation_id"))
    return answer(Title(_title(await call.runs.annotate(run_of(runs[-1]), title=call.body.title))))


@routes("DELETE", "/api/conversations/{conversation_id}", b.Done, errors=(404, 409))
async def delete_conversation(call: Call) -> Response:
    """Delete a conversation with its runs."""
    for info in await _existing_conversation(call, call.path("conversation_id")):
        await call.hub.delete(run_of(info))
    return answer(b.Done(True))


async def _existing_conversation(call: Call, name: str, limit: int = 100_000) -> list[RunInfo]:
    if not (runs := await conversation_runs(call, name, limit)):
        raise not_found(f"conversation {name[:80]!r}")
    return runs
