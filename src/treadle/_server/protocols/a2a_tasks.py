"""A run as a task of A2A: its status, its artifact, lists of them, and the events of its stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from treadle._engine.core.decisions import waiting_calls
from treadle._journal.base import RunInfo
from treadle._journal.catalog.values import Overview, RunFilter
from treadle._server.api.operations import Call
from treadle._server.errors import ApiError
from treadle._server.live.branches import OwnedRun, RunFacts
from treadle._server.live.hub import Hub
from treadle._server.live.owned import run_of
from treadle._server.live.push import Update
from treadle._server.protocols.a2a_rpc import CODES, RpcAnswer, failed
from treadle._server.protocols.endings import why_failed
from treadle._server.protocols.exchange import Exchange, TextDelta, data
from treadle._types.state import RunState, fold

State = Literal["", "WORKING", "INPUT_REQUIRED", "COMPLETED", "FAILED", "CANCELED"]
_MOST_LOOKED_AT = 500


class ListParams(Struct, frozen=True, kw_only=True, rename="camel"):
    context_id: Annotated[str, Meta(max_length=64)] = ""
    status: str = ""
    page_size: Annotated[int, Meta(ge=1, le=100)] = 50
    page_token: Annotated[str, Meta(max_length=80)] = ""
    history_length: Annotated[int, Meta(ge=0)] = 0
    status_timestamp_after: datetime | None = None
    include_artifacts: bool = False


async def task_of(exchange: Exchange, *, artifacts: bool = True) -> dict[str, Any]:
    state = await exchange.state()
    ids = await _ids(exchange)
    status = await _status(exchange.run_id, state, exchange.restored)
    task: dict[str, Any] = {"id": ids["taskId"], "contextId": ids["contextId"], "status": status}
    if artifacts and state.finished is not None and state.finished.answer:
        task["artifacts"] = [_artifact(exchange, await exchange.restored(state.finished.answer))]
    return task


async def _ids(exchange: Exchange) -> dict[str, str]:
    return _ids_of(exchange.run_id, await exchange.call.runs.facts(exchange.run_id))


def _ids_of(run: OwnedRun, facts: RunFacts) -> dict[str, str]:
    return {"taskId": run, "contextId": facts.conversation or run}


async def task_update(hub: Hub, run: OwnedRun) -> Update | None:
    """The content of a push notification about a run that has ended or waits."""
    state = fold(await hub.records(run))
    if state.finished is None and state.paused is None:
        return None
    masks = await hub.masks_of_run(run)

    async def restored(text: str) -> str:
        return text if masks is None else masks.restored(text)

    update = {**_ids_of(run, await hub.facts(run)), "status": await _status(run, state, restored)}
    return Update(state.seq, state.finished is not None, {"statusUpdate": update})


async def _status(run: OwnedRun, state: RunState, restored: Callable[[str], Awaitable[str]]) -> dict[str, Any]:
    text = ""
    if state.finished is not None:
        text = why_failed(state.finished)
    elif state.paused is not None:
        text = _wanted(state)
    when = datetime.fromtimestamp(state.updated, UTC).isoformat().replace("+00:00", "Z")
    status: dict[str, Any] = {"state": f"TASK_STATE_{state_of(state)}", "timestamp": when}
    if text:
        status["message"] = {
            "messageId": f"{run}-{state.seq}",
            "role": "ROLE_AGENT",
            "parts": [{"text": await restored(text)}],
            "taskId": run,
        }
    return status


def state_of(state: RunState) -> State:
    if state.finished is None:
        return "WORKING" if state.paused is None else "INPUT_REQUIRED"
    if state.finished.stop_reason == "cancelled":
        return "CANCELED"
    return "COMPLETED" if state.finished.success else "FAILED"


def _wanted(state: RunState) -> str:
    assert state.paused is not None
    calls = [f"{one.name}({msgspec.json.encode(one.args).decode()})" for one in waiting_calls(state)]
    return f"{state.paused.reason}: {'; '.join(calls)}" if calls else state.paused.reason


def _artifact(exchange: Exchange, text: str) -> dict[str, Any]:
    return {"artifactId": f"{exchange.run_id}-answer", "name": "answer", "parts": [{"text": text}]}


def stream(exchange: Exchange, request_id: str | int | None) -> Response:
    def failed_stream(error: ApiError) -> bytes:
        return data(failed(request_id, CODES.get(error.status, -32603), error.message))

    return exchange.stream(_chunks(exchange, request_id), failed_stream)


async def _chunks(exchange: Exchange, request_id: str | int | None) -> AsyncGenerator[bytes, None]:
    def result(value: Mapping[str, Any]) -> bytes:
        return data(RpcAnswer(request_id, "2.0", result=dict(value)))

    yield result({"task": await task_of(exchange)})
    ids, begun = await _ids(exchange), False
    async for event in exchange.events():
        if isinstance(event, TextDelta):
            update = {**ids, "artifact": _artifact(exchange, event.text), "append": begun, "lastChunk": False}
            yield result({"artifactUpdate": update})
            begun = True
    await exchange.settled()
    status = await _status(exchange.run_id, await exchange.state(), exchange.restored)
    yield result({"statusUpdate": {**ids, "status": status}})


# ---- lists


async def tasks_page(call: Call, agent: str, query: ListParams) -> dict[str, Any]:
    """List the tasks of an agent, those that began last first."""
    wanted = query.status.removeprefix("TASK_STATE_").replace("UNSPECIFIED", "")
    visible, after = call.runs, query.page_token
    only: RunFilter = {"agent": agent, "conversation": query.context_id}
    if wanted in ("COMPLETED", "FAILED", "CANCELED"):
        only["status"] = "finished"
    tasks: list[dict[str, Any]] = []
    for _ in range(_MOST_LOOKED_AT):
        runs: list[RunInfo] = await visible.list(limit=query.page_size + 1, after=after, **only)
        for info in runs[: query.page_size]:
            after = info.cursor
            exchange = Exchange(call, run_of(info), call.hub.runs.get(info.run_id), cancels=False)
            state = await exchange.state()
            if _fits(state, wanted, query.status_timestamp_after):
                tasks.append(await task_of(exchange, artifacts=query.include_artifacts))
            if len(tasks) == query.page_size:
                break
        else:
            if len(runs) <= query.page_size:
                after = ""
                break
            continue
        more = await visible.list(limit=1, after=after, **only)
        after = after if more else ""
        break
    total = _total(await visible.overview(**only), wanted)
    return {"tasks": tasks, "nextPageToken": after, "pageSize": query.page_size, "totalSize": total}


def _fits(state: RunState, wanted: str, since: datetime | None) -> bool:
    if since is not None and state.updated < since.timestamp():
        return False
    return not wanted or state_of(state) == wanted


def _total(counted: Overview, wanted: str) -> int:
    statuses, cancelled = counted.statuses, counted.stop_reasons.get("cancelled", 0)
    match wanted:
        case "":
            return counted.runs
        case "WORKING":
            return statuses.get("running", 0) + statuses.get("idle", 0)
        case "INPUT_REQUIRED":
            return statuses.get("paused", 0) + statuses.get("parked", 0)
        case "CANCELED":
            return cancelled
        case "COMPLETED":
            return counted.succeeded
        case "FAILED":
            return statuses.get("finished", 0) - counted.succeeded - cancelled
        case _:
            return 0
