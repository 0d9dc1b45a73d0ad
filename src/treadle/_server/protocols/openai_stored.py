"""Responses of OpenAI's protocol after the request that made them: read, cancelled, deleted by their ids. A response is
a run, whoever started it."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct
from starlette.responses import Response

from treadle._server.api.operations import Call, Routes, answer
from treadle._server.errors import ApiError, bad_request, not_found
from treadle._server.live.branches import OwnedRun
from treadle._server.protocols.endings import has_output_schema
from treadle._server.protocols.exchange import Exchange, run_of_answer, steps_of
from treadle._server.protocols.openai_responses import ResponseBody, ResponseProjection, ResponsesRequest
from treadle._types.state import RunState, fold

routes = Routes("openai")

_PREFIX = "resp_"


class RetrieveQuery(Struct, frozen=True, kw_only=True):
    stream: str = ""


class DeletedResponse(Struct, frozen=True):
    id: str
    deleted: bool = True
    object: Literal["response"] = "response"


@routes("GET", "/v1/responses/{response_id}", ResponseBody, query=RetrieveQuery, errors=(404,))
async def get_response(call: Call) -> Response:
    """Return a response by its id, also one that is still being made."""
    query: RetrieveQuery = call.query
    if query.stream.lower() in ("true", "1"):
        raise bad_request("a response that exists is given whole: leave out `stream`, or follow /api/runs/ID/events")
    return answer(await _stored(call, await _run_id(call)))


@routes("POST", "/v1/responses/{response_id}/cancel", ResponseBody, errors=(404, 409))
async def cancel_response(call: Call) -> Response:
    """Cancel a response that is being made; one that has ended stays as it is."""
    run_id = await _run_id(call)
    run = call.hub.runs.get(run_id)
    if fold(await call.hub.records(run_id)).finished is None:
        await call.hub.cancel(run_id)
        await Exchange(call, run_id, run, cancels=False).settled()
    return answer(await _stored(call, run_id))


@routes("DELETE", "/v1/responses/{response_id}", DeletedResponse, errors=(404, 409))
async def delete_response(call: Call) -> Response:
    """Delete a response that has ended."""
    run_id = await _run_id(call)
    await call.hub.delete(run_id)
    return answer(DeletedResponse(call.path("response_id")))


async def _run_id(call: Call) -> OwnedRun:
    response_id = call.path("response_id")
    run = await call.runs.find(run_of_answer(response_id.removeprefix(_PREFIX)))
    if run is None:
        raise not_found(f"response {response_id[:80]!r}")
    return run


async def _stored(call: Call, run_id: OwnedRun) -> ResponseBody:
    records = await call.hub.records(run_id)
    state, facts = fold(records), await call.runs.facts(run_id)
    exchange = Exchange(call, run_id, call.hub.runs.get(run_id), typed=has_output_schema(state), cancels=False)
    previous = _PREFIX + facts.follows if facts.follows else None
    request = ResponsesRequest(model=facts.agent, input="?", previous_response_id=previous)
    projection = ResponseProjection(exchange, request)
    for step in steps_of(records):
        projection.shown(step)
    changes: dict[str, object] = {"id": call.path("response_id"), "created_at": int(state.created)}
    try:
        body = projection.ended(await exchange.outcome_now())
    except ApiError as error:
        body = projection.body()
        if state.finished is not None:
            changes |= _unanswered(state, error)
    return msgspec.structs.replace(body, **changes)


def _unanswered(state: RunState, error: ApiError) -> dict[str, object]:
    assert state.finished is not None
    if state.finished.stop_reason == "cancelled":
        return {"status": "cancelled"}
    return {"status": "failed", "error": {"code": "server_error", "message": error.message}}
