"""Operations on the memories of this server's agents: about whom, from which run; they can be changed and forgotten.

With tokens, users see and change what is remembered about themselves. Without any there is one user, who owns the file.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.responses import Response

from treadle._agent import presets
from treadle._plugins.memory.store import MAX_SUMMARY, Memo, MemoryStore
from treadle._safety.logs import get_logger
from treadle._server.api.operations import Call, Routes, answer
from treadle._server.errors import ApiError, bad_request, not_found
from treadle._server.live.hub import Hub

routes = Routes("memory")

logger = get_logger("treadle.server")
_MAX_USERS = 1_000


class MemoryQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    user: Annotated[str, Meta(max_length=200)] = ""
    """Whom they are about; only needed, and only allowed, on a server without tokens."""
    before: Annotated[int, Meta(ge=0, lt=2**53)] = 0
    """The number of a memory: older ones than that."""
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class ForgetQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    user: Annotated[str, Meta(max_length=200)] = ""


class MemoryChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    summary: Annotated[str, Meta(min_length=1, max_length=MAX_SUMMARY)]


class StoreBody(Struct, frozen=True):
    name: str
    """That of the first agent that uses it."""
    agents: list[str]
    about: dict[str, int]
    """How many memories there are about whom; with tokens, only about who asks."""


class StoreList(Struct, frozen=True):
    stores: list[StoreBody]
    """Empty when no agent has the plug-in `Memory`."""


class MemoryBody(Struct, frozen=True):
    id: int
    user: str
    agent: str
    question: str
    answer: str
    summary: str
    created: float
    run_id: str
    conversation: str
    """Where that run can be seen; empty when it is not in the journal any more."""


class MemoryList(Struct, frozen=True):
    memories: list[MemoryBody]
    """Newest first."""
    more: bool


class Forgotten(Struct, frozen=True):
    forgotten: int


@routes("GET", "/api/memory", StoreList)
async def list_memory_stores(call: Call) -> Response:
    """List the stores of memories, and about whom they have some."""
    user = call.principal.user
    bodies: list[StoreBody] = []
    for name, (store, agents) in _stores(call.hub).items():
        about = await _in_thread(store.users)
        if user:
            about = {user: about.get(user, 0)}
        bodies.append(StoreBody(name, agents, dict(list(about.items())[:_MAX_USERS])))
    return answer(StoreList(bodies))


@routes("GET", "/api/memory/{store}", MemoryList, query=MemoryQuery, errors=(404, 503))
async def list_memories(call: Call) -> Response:
    """List the memories about a user, and the runs they come from."""
    query: MemoryQuery = call.query
    store = _store(call)
    user = _about(call, query.user)
    memos = await _in_thread(lambda: store.all(user, query.limit + 1, before=query.before))
    page = [await _body(call, memo) for memo in memos[: query.limit]]
    return answer(MemoryList(page, len(memos) > query.limit))


@routes("POST", "/api/memory/{store}/{memory}", MemoryBody, body=MemoryChange, errors=(404, 503))
async def edit_memory(call: Call) -> Response:
    """Change the text of a memory."""
    body: MemoryChange = call.body
    store, memo = await _memo(call)
    if not body.summary.strip():
        raise bad_request("a memory must say something: DELETE removes it")
    if not await _in_thread(lambda: store.edit(memo.id, body.summary.strip())):
        raise not_found(f"memory {memo.id}")
    changed = await _in_thread(lambda: store.get(memo.id))
    return answer(await _body(call, changed or memo))


@routes("DELETE", "/api/memory/{store}/{memory}", Forgotten, errors=(404, 503))
async def forget_memory(call: Call) -> Response:
    """Forget one memory."""
    store, memo = await _memo(call)
    return answer(Forgotten(int(await _in_thread(lambda: store.forget_one(memo.id)))))


@routes("DELETE", "/api/memory/{store}", Forgotten, query=ForgetQuery, errors=(404, 503))
async def forget_user(call: Call) -> Response:
    """Forget everything about a user."""
    query: ForgetQuery = call.query
    store = _store(call)
    user = _about(call, query.user)
    return answer(Forgotten(await _in_thread(lambda: store.forget(user))))


def _stores(hub: Hub) -> dict[str, tuple[MemoryStore, list[str]]]:
    """Map each store by the name of the first agent that uses it, with the names of all that do."""
    by_path: dict[str, tuple[str, MemoryStore, list[str]]] = {}
    for name, agent in hub.agents.items():
        for store in presets.memory_stores(agent):
            place = str(store.path.absolute())
            _, _, agents = by_path.setdefault(place, (name, store, []))
            if name not in agents:
                agents.append(name)
    named: dict[str, tuple[MemoryStore, list[str]]] = {}
    for first, store, agents in by_path.values():
        number = sum(name == first or name.startswith(f"{first}~") for name in named)
        named[f"{first}~{number + 1}" if number else first] = (store, agents)
    return named


def _store(call: Call) -> MemoryStore:
    stores, name = _stores(call.hub), call.path("store")
    if name not in stores:
        hint = f"expected one of: {', '.join(stores)}" if stores else "no agent of this server has the plug-in Memory"
        raise not_found(f"store of memories {name[:80]!r}", hint)
    return stores[name][0]


def _about(call: Call, wanted: str) -> str:
    """Return the user whose memories are meant; a user with a token can only mean their own."""
    user = call.principal.user or wanted
    if wanted and wanted != user:
        raise not_found(f"user {wanted[:80]!r} that you may ask about")
    if not user:
        raise bad_request("say whose memories are meant: ?user=NAME")
    return user


async def _memo(call: Call) -> tuple[MemoryStore, Memo]:
    store, number, user = _store(call), call.path("memory"), call.principal.user
    usable = number.isascii() and number.isdigit() and len(number) <= 15
    memo = await _in_thread(lambda: store.get(int(number))) if usable else None
    if memo is None or (user and memo.user != user):  # somebody else's is not even said to exist
        raise not_found(f"memory {number[:20]!r}")
    return store, memo


async def _body(call: Call, memo: Memo) -> MemoryBody:
    run = await call.runs.find(memo.run)
    conversation = ((await call.runs.facts(run)).conversation or run) if run is not None else ""
    return MemoryBody(
        memo.id, memo.user, memo.agent, memo.question, memo.answer, memo.summary, memo.created, memo.run, conversation
    )


async def _in_thread(method: Callable[[], Any]) -> Any:
    """Call a method of the store in a thread: another process may lock the file for a while."""
    try:
        return await asyncio.to_thread(method)
    except (sqlite3.Error, OSError) as error:
        logger.error("the memories cannot be read: %s", error)
        raise ApiError(
            503, "memory_unavailable", "the memories cannot be read now: try again", retry_after=5.0
        ) from None
