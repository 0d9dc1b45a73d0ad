"""The choice of the run that answers a request of another protocol.

A request either asks something new, or brings the results of calls that the client executes: those continue the run
that waits for them. The id a client gets for such a call names the run, the record that paused it and the call, so
nothing has to be remembered for it. A request that asks is noted with its run before that begins, so that one which is
sent again after a lost response goes on where it was (`live/repeats.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from treadle._engine.answering.output import shape_of
from treadle._engine.core.decisions import waiting_calls
from treadle._engine.run import Run
from treadle._server.api.conversations import conversation_so_far
from treadle._server.api.operations import Call
from treadle._server.errors import ApiError, bad_request, conflict
from treadle._server.live.branches import OwnedRun
from treadle._server.live.owned import run_of
from treadle._server.live.positions import Position
from treadle._server.live.repeats import Place, digest
from treadle._server.protocols.endings import has_output_schema, refuse_unless_answered
from treadle._server.protocols.exchange import AgentRequest, Exchange
from treadle._server.protocols.untyped_json import fields_of
from treadle._types.errors import ConfigError, RunBusyError
from treadle._types.events import Paused
from treadle._types.state import RunState, fold

_CALL_ID = re.compile(r"call_([0-9a-f]{32})_(\d{1,9})_(\d{1,3})")
_END = 1 << 40
_MAX_KEY = 255


async def begin(call: Call, request: AgentRequest) -> Exchange:
    """Return the run that answers a request: a new one, the one that the same request has begun before, or the one
    that waits for these results."""
    if request.results:
        return await _continued(call, request)
    repeats = call.context.repeats
    place = await _place(call, request)
    if place.named:
        repeats.hold(place)
    # Held before the run exists: an equal request at this moment would take it for one that has lost its client.
    try:
        if not place.found and (exchange := await _started_unless_begun(call, request, place)) is not None:
            return exchange
        return await _joined(call, request, msgspec.structs.replace(place, found=True))
    finally:
        repeats.release(place)


async def _started_unless_begun(call: Call, request: AgentRequest, place: Place) -> Exchange | None:
    """Start the run; None if the same request has begun it at this moment."""
    try:
        return await _started(call, request, place)
    except RunBusyError:
        return None
    except Exception as error:
        begun = await call.context.repeats.exists(place.run_id)  # by the same: its conversation is under way
        if not begun:
            await call.context.repeats.forget(place)
        if not begun or not isinstance(error, ApiError):
            raise
        return None


async def _place(call: Call, request: AgentRequest) -> Place:
    repeats, user = call.context.repeats, call.principal.user
    sent = request.request
    content = digest(type(sent).__name__, user, request.agent, msgspec.json.encode(sent))
    if request.message_id:
        return await repeats.named(("message", user, request.agent, request.message_id, content), content)
    keys = call.request.headers.getlist("idempotency-key")
    if not keys:
        # Equal text alone is no repetition: it has to come from the same program at the same address.
        return await repeats.like(digest(content, call.principal.address, call.request.headers.get("user-agent", "")))
    key = keys[0]
    if len(keys) > 1 or not 0 < len(key) <= _MAX_KEY:
        raise bad_request(f"a request has one Idempotency-Key of 1 to {_MAX_KEY} characters, or none")
    place = await repeats.named(("key", user, key), content)
    if place.found and _failed_for_now(place.run_id, fold(await call.hub.records(await call.runs.owned(place.run_id)))):
        place = await repeats.anew(place, content)
    return place


def _failed_for_now(run_id: str, state: RunState) -> bool:
    """Return whether the run has ended with an error that told its client to try again."""
    if state.finished is None:
        return False
    try:
        refuse_unless_answered(run_id, state)
    except ApiError as error:
        return error.status == 503
    return False


async def _started(call: Call, request: AgentRequest, place: Place) -> Exchange:
    if request.output_schema is not None:
        shape_of(request.output_schema)
    tools = () if request.tool_choice.names == () else request.tools
    constraint = request.tool_choice.constraint([tool.name for tool in tools])
    history, follows = list(request.history), request.follows
    if request.conversation:
        earlier = await conversation_so_far(call, request.conversation, request.follows)
        if earlier is not None:
            follows, past = earlier
            brought = [one for one in history if _is_brought(fields_of(one))]
            history = [*brought, *past]
    run = await call.hub.start(
        call.hub.agent(request.agent),
        request.content,
        history=history,
        run_id=place.run_id,
        conversation=request.conversation or place.run_id,
        user=call.principal.user,
        follows=follows,
        key=call.principal.key,
        client_tools=tools,
        output_schema=request.output_schema,
        constraint=constraint,
        **{name: value for name, value in request.settings.items() if value is not None},
    )
    typed = request.output_schema is not None
    return Exchange(call, run_of(run), run, typed=typed, stop=request.stop, cancels=not place.named, place=place)


def _is_brought(message: dict[str, Any]) -> bool:
    """Return whether it comes with this request alone, whatever was said before in its conversation."""
    return message.get("role") in ("system", "developer") or "origin" in message


async def _joined(call: Call, request: AgentRequest, place: Place) -> Exchange:
    """Join the run that the same request has begun before: it goes on if it was interrupted, and is streamed from its
    beginning."""
    hub = call.hub
    await hub.begun(place.run_id)
    run_id = await call.runs.owned(place.run_id)
    state = fold(await hub.records(run_id))
    run = await hub.driven(run_id)
    if state.finished is None and state.paused is None:
        run = await resumed(call, run_id)
    typed = has_output_schema(state)
    return Exchange(call, run_id, run, typed=typed, stop=request.stop, cancels=not place.named, place=place)


async def resumed(call: Call, run_id: OwnedRun) -> Run[Any] | None:
    """Resume a run; None if another process drives it: then its log is followed."""
    try:
        return await call.hub.resume(run_id, call.principal.key)
    except RunBusyError:
        return None


async def _continued(call: Call, request: AgentRequest) -> Exchange:
    run_id, at, named = await _named_calls(call, request.results)
    hub = call.hub
    records = await hub.records(run_id)
    state = fold(records)
    waiting = {one.id for one in waiting_calls(state) if one.external}
    new = {call_id: value for call_id, value in named.items() if call_id in waiting}
    if not new and not all(call_id in state.calls.results for call_id in named):
        raise conflict(
            f"run {run_id} does not wait for these results: it has been cancelled, or they were given before"
        )
    if new:
        tools = state.started.client_tools if state.started is not None else ()
        constraint = request.tool_choice.constraint(tools)
        try:
            await hub.leave_results(run_id, new, call.principal.user, constraint)
        except ConfigError as error:
            raise bad_request(str(error)) from None
    run = None
    if new or (state.finished is None and state.paused is None):
        run = await resumed(call, run_id)  # another process that drives it reads the results when it pauses
    return Exchange(
        call,
        run_id,
        run,
        after=Position(at, _END),
        typed=has_output_schema(state),
        stop=request.stop,
        cancels=False,  # the client may lose this response: it comes back for it with the same request
        before=fold(records[: at + 1]).usage,
    )


async def _named_calls(call: Call, results: Mapping[str, Any]) -> tuple[OwnedRun, int, dict[str, Any]]:
    """Return the run, the record of its pause, and the results by the engine's own ids."""
    places: dict[str, re.Match[str]] = {}
    for call_id in results:
        match = _CALL_ID.fullmatch(call_id)
        if match is None:
            raise _no_call(call_id)
        places[call_id] = match
    runs = {match[1] for match in places.values()}
    if len(runs) != 1:
        raise bad_request("these results belong to several runs: send those of the last reply only")
    run_id = await call.runs.owned(runs.pop())
    records = await call.hub.records(run_id)
    named: dict[str, Any] = {}
    at = -1
    for call_id, match in places.items():
        seq, index = int(match[2]), int(match[3])
        event = records[seq].event if seq < len(records) else None
        if not isinstance(event, Paused) or index >= len(event.calls):
            raise _no_call(call_id)
        named[event.calls[index].id] = results[call_id]
        at = max(at, seq)
    return run_id, at, named


def _no_call(call_id: str) -> ApiError:
    return bad_request(f"there is no call {call_id[:80]!r} here: send the id that the call came with")
