"""Operations on runs: start, read, follow, send messages, decide, cancel, resume, fork."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
from starlette.responses import Response

from treadle._agent.waiting import InvalidArgumentsError, waiting_calls
from treadle._engine.answering.output import shape_of
from treadle._engine.core.experiment import is_search
from treadle._server.api import bodies as b
from treadle._server.api.content import TextItem, content_of
from treadle._server.api.conversations import conversation_so_far
from treadle._server.api.operations import Call, Routes, answer
from treadle._server.api.views import run_body
from treadle._server.errors import ApiError, bad_request, conflict, unprocessable
from treadle._server.live.branches import ForkPlan, OwnedRun
from treadle._server.live.follower import follow
from treadle._server.live.owned import run_of
from treadle._server.live.positions import START, Position, read_position
from treadle._server.live.projection import Detail, Projection
from treadle._server.live.sse import EventStream
from treadle._tools.external import client_tool
from treadle._types.errors import ConfigError, RunBusyError, ToolError
from treadle._types.events import Record
from treadle._types.state import fold

routes = Routes("runs")


@routes("POST", "/api/runs", {201: b.Created, 200: (b.Created, "text/event-stream")}, body=b.NewRun, errors=(404, 409))
async def create_run(call: Call) -> Response:
    """Start a run. It continues whether or not a client follows it."""
    new: b.NewRun = call.body
    created, status = await _created(call, new)
    if new.stream is not None:
        with suppress(ApiError):  # as many streams as there may be: its events can be asked for later
            return await _events(call, await call.runs.owned(created.run_id), START, new.stream)
    return answer(created, status)


async def _created(call: Call, new: b.NewRun) -> tuple[b.Created, int]:
    """Return the run, with 200 if the same request has started it before."""
    if not new.run_id:
        return await _started(call, new), 201
    if (existing := await _existing(call, new.run_id)) is None:
        try:
            return await _started(call, new), 201
        except (RunBusyError, ApiError) as error:  # also when it has begun the next run of the conversation
            if isinstance(error, RunBusyError):
                await call.hub.begun(call.runs.id_for(new.run_id))  # the same request, at this moment
            if (existing := await _existing(call, new.run_id)) is None:
                raise
    return existing, 200


async def _started(call: Call, new: b.NewRun) -> b.Created:
    hub, user = call.hub, call.principal.user
    agent = hub.variants.chosen(hub.agent(new.agent or next(iter(hub.agents))), new.model, new.preset)
    settings: dict[str, Any] = {
        key: value for key, value in msgspec.structs.asdict(new.settings).items() if value is not None
    }
    if settings.get("max_iterations", 0) > agent.settings.max_iterations:
        raise bad_request(f"max_iterations may be at most {agent.settings.max_iterations} for this agent")
    history: list[Any] = [{"role": past.role, "content": past.content} for past in new.history]
    follows, conversation = "", new.conversation
    if new.conversation and (earlier := await conversation_so_far(call, new.conversation, new.follows)) is not None:
        if history:
            raise bad_request("give an existing `conversation` or a `history`, not both")
        follows, history = earlier
        conversation = (await call.runs.facts(follows)).conversation or conversation
    elif new.follows:
        raise bad_request("`follows` names a run of an existing `conversation`: give that, too")
    if new.output_schema is not None:
        shape_of(new.output_schema)
    run_id = call.runs.id_for(new.run_id)
    run = await hub.start(
        agent,
        content_of(new.question),
        history=history,
        run_id=run_id,
        conversation=conversation or run_id,
        user=user,
        follows=follows,
        key=call.principal.key,
        client_tools=[client_tool(one.name, one.description, one.parameters) for one in new.tools],
        output_schema=new.output_schema,
        **settings,
    )
    return b.created(run.id, conversation or run_id)


async def _existing(call: Call, run_id: str) -> b.Created | None:
    """Return the run a repeated request has already started."""
    if (run := await call.runs.find(run_id)) is None:
        return None
    return b.created(run, (await call.runs.facts(run)).conversation)


@routes("GET", "/api/runs/{run_id}", b.RunBody, errors=(404,))
async def get_run(call: Call) -> Response:
    """Return the state of a run."""
    run_id = await call.owned_run()
    records = await call.hub.records(run_id)
    inside = await call.runs.inside(run_id, limit=200)
    children = [info for info in inside if not is_search(info.run_id)]
    info = await call.runs.info(run_id)
    return answer(run_body(info, records, live=run_id in call.hub.runs, children=children[::-1]))


@routes("DELETE", "/api/runs/{run_id}", b.Done, errors=(404, 409))
async def delete_run(call: Call) -> Response:
    """Delete a finished or paused run and its children."""
    run_id = await call.owned_run()
    await call.hub.delete(run_id)
    return answer(b.Done(True))


@routes("GET", "/api/runs/{run_id}/events", {200: "text/event-stream", 204: None}, query=b.EventsQuery, errors=(404,))
async def run_events(call: Call) -> Response:
    """Stream the events of a run, live or finished, from the beginning or after `Last-Event-ID`."""
    query: b.EventsQuery = call.query
    run_id = await call.owned_run()
    after = START
    if event_id := call.request.headers.get("last-event-id", "") or query.after:
        position = read_position(event_id)
        if position is None:
            raise bad_request(f"{event_id[:40]!r} is not the id of an event: send the last one you saw, or none")
        after = position
        if await _has_seen_all(call, run_id, after, query.detail):
            return Response(status_code=204)  # tells a browser not to connect again
    return await _events(call, run_id, after, query.detail)


async def _events(call: Call, run_id: OwnedRun, after: Position, detail: Detail) -> Response:
    masks = await call.hub.masks_of_run(run_id)
    call.context.streams.acquire(call.principal.key)
    follower, settings = call.hub.follower(run_id, after, detail, masks), call.context.settings

    def end() -> None:
        call.context.streams.release(call.principal.key)
        call.hub.release(follower.channel)

    return EventStream(
        follow(follower, settings), send_timeout=settings.send_timeout, heartbeat=settings.heartbeat, on_end=end
    )


async def _has_seen_all(call: Call, run_id: OwnedRun, after: Position, detail: Detail) -> bool:
    if run_id in call.hub.runs:
        return False
    projection = Projection(detail)
    shown = [event for record in await call.hub.records(run_id) for event in projection.feed(record)]
    return projection.finished and all(event.at <= after for event in shown[-2:])


@routes("POST", "/api/runs/{run_id}/messages", {202: b.Accepted}, body=b.NewMessage, errors=(404, 409))
async def send_message(call: Call) -> Response:
    """Send a message to a run in progress. 409 when the run has ended, or ends before it could read it."""
    run_id = await call.owned_run()
    await _unfinished(call, run_id)
    message: b.NewMessage = call.body
    content = content_of([TextItem(text=message.text), *message.parts]) if message.parts else message.text
    return answer(b.Accepted(await call.hub.send(run_id, content)), 202)


@routes("DELETE", "/api/runs/{run_id}/messages/{message_id}", b.Recalled, errors=(404,))
async def recall_message(call: Call) -> Response:
    """Withdraw a message the run has not read yet."""
    run_id = await call.owned_run()
    return answer(b.Recalled(await call.runs.recall(run_id, call.path("message_id"))))


@routes("POST", "/api/runs/{run_id}/cancel", {202: b.Done}, errors=(404, 409))
async def cancel_run(call: Call) -> Response:
    """Cancel a run. Its log stays complete."""
    run_id = await call.owned_run()
    await _unfinished(call, run_id)
    await call.hub.cancel(run_id)
    return answer(b.Done(True), 202)


@routes("POST", "/api/runs/{run_id}/approvals", {202: b.Done}, body=b.Decision, errors=(404, 409, 422))
async def decide(call: Call) -> Response:
    """Allow (also with changed arguments) or refuse calls that wait for approval; the run is resumed."""
    run_id = await call.owned_run()
    records = await _unfinished(call, run_id)
    decision: b.Decision = call.body
    if parent := records[0].parent:
        raise conflict(f"this run is inside another, which waits for the same: decide at /api/runs/{parent}/approvals")
    allow = _allows(decision)
    # A call that waits for its result can be refused; `all` allows those that wait for a decision.
    calls = waiting_calls(fold(records))
    waiting = [waiting.id for waiting in calls if not (waiting.external and allow and decision.all is not None)]
    chosen = waiting if decision.all is not None else [decision.call_id]
    if not waiting or chosen[0] not in waiting:
        which = (
            "no call of this run waits" if decision.all is not None else f"the call {chosen[0][:80]!r} does not wait"
        )
        raise conflict(f"{which} for a decision; calls that do: {', '.join(waiting) or 'none'}")
    approval: dict[str, Any] = {
        "allow": allow,
        "always": decision.always,
        "note": decision.note,
        "args": decision.args,
        "by": call.principal.user,
    }
    try:
        await call.hub.approve(run_id, dict.fromkeys(chosen, approval))
    except InvalidArgumentsError as error:
        raise unprocessable(str(error)) from None
    except ConfigError as error:  # another decision came first
        raise conflict(str(error)) from None
    return answer(b.Done(True), 202)


@routes("POST", "/api/runs/{run_id}/results", {202: b.Done}, body=b.CallResult, errors=(404, 409, 422))
async def give_result(call: Call) -> Response:
    """Give the result of a call that the client executes; the run is resumed."""
    run_id = await call.owned_run()
    records = await _unfinished(call, run_id)
    result: b.CallResult = call.body
    if parent := records[0].parent:
        raise conflict(f"this run is inside another, which waits for the same: answer at /api/runs/{parent}/results")
    if result.error and result.content:
        raise unprocessable("a result has `content`, or `error` when the call failed: not both")
    waiting = [waiting.id for waiting in waiting_calls(fold(records)) if waiting.external]
    if result.call_id not in waiting:
        listed = ", ".join(waiting) or "none"
        raise conflict(f"the call {result.call_id[:80]!r} does not wait for a result; calls that do: {listed}")
    value = ToolError(result.error) if result.error else content_of(result.content)
    try:
        await call.hub.give_results(run_id, {result.call_id: value}, call.principal.user)
    except ConfigError as error:
        raise unprocessable(str(error)) from None
    return answer(b.Done(True), 202)


def _allows(decision: b.Decision) -> bool:
    """Return whether a decision allows its calls; raise for one that contradicts itself."""
    if decision.all is not None:
        if decision.call_id or decision.args is not None or decision.allow not in (None, decision.all):
            raise unprocessable("`all` decides about every call that waits: leave out `call_id`, `allow` and `args`")
        allow = decision.all
    elif not decision.call_id or decision.allow is None:
        raise unprocessable(
            'say which call and what: {"call_id": ..., "allow": true}; or {"all": true} for all of them'
        )
    else:
        allow = decision.allow
    if not allow and (decision.always or decision.args is not None):
        raise unprocessable("a call that is refused has neither `args` nor `always`")
    return allow


async def _unfinished(call: Call, run_id: OwnedRun) -> Sequence[Record]:
    """Return the records of a run that has not finished; one that has is a conflict."""
    records = await call.hub.records(run_id)
    if fold(records).finished is not None:
        raise conflict("the run has finished: start another one in the same conversation")
    return records


@routes("POST", "/api/runs/{run_id}/resume", {202: b.Done}, errors=(404, 409))
async def resume_run(call: Call) -> Response:
    """Resume a run that was interrupted or parked."""
    run_id = await call.owned_run()
    await _unfinished(call, run_id)
    await call.hub.resume(run_id, call.principal.key)
    return answer(b.Done(True), 202)


@routes("POST", "/api/runs/{run_id}/fork", {201: b.Created}, body=b.Fork, errors=(404, 409))
async def fork_run(call: Call) -> Response:
    """Start a new run with this one's records up to a point."""
    run_id = await call.owned_run()
    fork: b.Fork = call.body
    plan = ForkPlan(at=fork.at, question=fork.question, message=fork.message, branch=fork.branch)
    run = await call.hub.fork(run_id, plan, user=call.principal.user, key=call.principal.key)
    return answer(b.created(run.id, (await call.runs.facts(run_of(run))).conversation), 201)
