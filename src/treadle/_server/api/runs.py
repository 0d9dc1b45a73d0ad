"""The runs API: start, look, follow, talk, decide, stop, fork."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Literal
from urllib.parse import quote

import msgspec
from starlette.responses import Response

from treadle._flows.conversation import history_of
from treadle._journal.base import RunInfo
from treadle._server.api import bodies as b
from treadle._server.api.conversations import group
from treadle._server.api.operations import Call, Operation, answer
from treadle._server.api.views import find_artifact, info_of, record_body, request_body, run_body, waiting_calls
from treadle._server.errors import ApiError, bad_request, conflict, not_found
from treadle._server.live.follower import Follower, follow
from treadle._server.live.projection import START, Position, Projection, read_position
from treadle._server.live.sse import EventStream
from treadle._types.events import Record
from treadle._types.ids import fresh_id
from treadle._types.messages import Content, ImagePart, TextPart
from treadle._types.state import fold

ARTIFACT_CSP = "sandbox; default-src 'none'; img-src data:; media-src data:; font-src data:; style-src 'unsafe-inline'; frame-ancestors 'self'"
_ANSWERED = ("answer", "final_tool", "limit", "stuck")
"""A turn that failed or was cancelled is not part of what those after it know."""
_SHOWN_INLINE = ("text/", "image/", "audio/", "video/", "application/json", "application/pdf")


async def create_run(call: Call) -> Response:
    new: b.NewRun = call.body
    hub, user = call.hub, call.principal.user
    agent = hub.agent(new.agent or next(iter(hub.agents)))
    if new.run_id and (known := await _existing(call, new.run_id)) is not None:
        return answer(known)
    settings: dict[str, Any] = {
        key: value for key, value in msgspec.structs.asdict(new.settings).items() if value is not None
    }
    if settings.get("max_iterations", 0) > agent.settings.max_iterations:
        raise bad_request(f"max_iterations of this agent is {agent.settings.max_iterations} at most")
    history: list[Any] = [{"role": past.role, "content": past.content} for past in new.history]
    if new.conversation and (said := await _conversation_so_far(call, new.conversation)) is not None:
        if history:
            raise bad_request("give a known `conversation` or a `history`, not both")
        history = said
    run_id = new.run_id or fresh_id()
    run = await hub.start(
        agent,
        _question(new),
        history=history,
        run_id=run_id,
        conversation=new.conversation or run_id,
        user=user,
        key=call.principal.key,
        **settings,
    )
    return answer(b.Created(run.id, new.conversation or run_id, f"/api/runs/{run.id}/events"), 201)


async def _existing(call: Call, run_id: str) -> b.Created | None:
    """The run a repeated request has already started. Another user's is a clash, not a leak."""
    try:
        facts = await call.hub.owned(run_id, "")
    except ApiError:
        return None
    if call.principal.user and facts.user != call.principal.user:
        raise conflict("this run_id is taken: choose another")
    return b.Created(run_id, facts.conversation, f"/api/runs/{run_id}/events")


async def _conversation_so_far(call: Call, conversation: str) -> list[Any] | None:
    runs = await _conversation_runs(call, conversation)
    if not runs:
        return None
    if runs[0].status != "finished":
        raise conflict(
            f"run {runs[0].run_id} of this conversation is not finished: send it a message, or cancel it first"
        )
    answered = next((info for info in runs if info.stop_reason in _ANSWERED), None)
    return list(history_of(fold(await call.hub.records(answered.run_id)))) if answered else []


async def _conversation_runs(call: Call, name: str) -> list[RunInfo]:
    """Newest first. A run that belongs to no conversation (it was started elsewhere) is the beginning of one of its own name."""
    user = call.principal.user
    runs = await call.hub.journal.list(conversation=name, parent="", user=user, limit=1000) if name else []
    if not any(info.run_id == name for info in runs):
        try:
            facts = await call.hub.owned(name, user)
        except ApiError:
            return runs
        if not facts.conversation and not facts.parent:
            runs.append(info_of(name, await call.hub.records(name)))
    return runs


def _question(new: b.NewRun) -> Content:
    if isinstance(new.question, str):
        return new.question
    parts: list[TextPart | ImagePart] = []
    for item in new.question:
        if isinstance(item, b.TextItem):
            parts.append(TextPart(item.text))
        elif item.url or item.data:
            parts.append(ImagePart(item.url, item.data, item.mime))
        else:
            raise bad_request("an image needs a `url` or `data`")
    return tuple(parts)


async def list_runs(call: Call) -> Response:
    query: b.ListQuery = call.query
    if query.parent:
        await call.hub.owned(query.parent, call.principal.user)
    # A child run carries no user of its own: it is its parent's.
    user = "" if query.parent else call.principal.user
    runs = await call.hub.journal.list(
        limit=query.limit, status=query.status, conversation=query.conversation, parent=query.parent, user=user
    )  # fmt: skip
    return answer(b.RunList(b.lines(runs)))


async def get_run(call: Call) -> Response:
    run_id = call.path("run_id")
    await call.hub.owned(run_id, call.principal.user)
    records = await call.hub.records(run_id)
    children = await call.hub.journal.list(parent=run_id, limit=200)
    return answer(run_body(run_id, records, live=run_id in call.hub.runs, children=children[::-1]))


async def delete_run(call: Call) -> Response:
    run_id = call.path("run_id")
    await call.hub.owned(run_id, call.principal.user)
    await call.hub.delete(run_id)
    return answer(b.Done(True))


async def run_events(call: Call) -> Response:
    query: b.EventsQuery = call.query
    run_id = call.path("run_id")
    await call.hub.owned(run_id, call.principal.user)
    after = START
    if given := call.request.headers.get("last-event-id", "") or query.after:
        position = read_position(given)
        if position is None:
            raise bad_request(f"{given[:40]!r} is not the id of an event: send the last one you saw, or none")
        after = position
        if await _has_seen_all(call, run_id, after, query.detail):
            return Response(status_code=204)  # tells a browser not to connect again
    call.context.streams.enter(call.principal.key)
    channel, settings = call.hub.channel(run_id), call.context.settings

    def end() -> None:
        call.context.streams.leave(call.principal.key)
        call.hub.let_go(channel)

    follower = Follower(channel, call.hub.journal, after, query.detail)
    return EventStream(follow(follower, settings), send_timeout=settings.send_timeout, on_end=end)


async def _has_seen_all(call: Call, run_id: str, after: Position, detail: Literal["plain", "full"]) -> bool:
    if run_id in call.hub.runs:
        return False
    projection = Projection(detail)
    shown = [event for record in await call.hub.records(run_id) for event in projection.feed(record)]
    return projection.finished and all(event.at <= after for event in shown[-2:])


async def run_records(call: Call) -> Response:
    query: b.RecordsQuery = call.query
    run_id = call.path("run_id")
    await call.hub.owned(run_id, call.principal.user)
    records = [record for record in await call.hub.records(run_id) if record.seq > query.after]
    page = records[: query.limit]
    return answer(b.RecordList([record_body(record) for record in page], len(records) > len(page)))


async def run_request(call: Call) -> Response:
    run_id = call.path("run_id")
    await call.hub.owned(run_id, call.principal.user)
    number = call.path("seq")
    if not number.isascii() or not number.isdigit() or len(number) > 15:
        raise bad_request("the number of a record is a whole number")
    return answer(request_body(await call.hub.records(run_id), int(number)))


async def run_artifact(call: Call) -> Response:
    """Whatever a tool made is shown without scripts, without network, and as nobody's page."""
    query: b.ArtifactQuery = call.query
    run_id = call.path("run_id")
    await call.hub.owned(run_id, call.principal.user)
    artifact = find_artifact(await call.hub.records(run_id), call.path("name"), query.call_id)
    try:
        content = base64.b64decode(artifact.content, validate=True) if artifact.base64 else artifact.content.encode()
    except binascii.Error:
        raise conflict("this artifact says that it is base64 and is not") from None
    mime = artifact.mime if artifact.mime.isascii() and artifact.mime.isprintable() else "application/octet-stream"
    inline = mime.startswith(_SHOWN_INLINE) and not query.download
    filename = quote(artifact.name.rsplit("/")[-1][:200], safe="")
    headers = {
        "content-security-policy": ARTIFACT_CSP,
        "content-disposition": f"{'inline' if inline else 'attachment'}; filename*=utf-8''{filename}",
        "cache-control": "private, max-age=3600",
    }
    return Response(content, 200, headers, media_type=mime)


async def send_message(call: Call) -> Response:
    run_id = call.path("run_id")
    await _unfinished(call, run_id)
    message: b.NewMessage = call.body
    return answer(b.Accepted(await call.hub.send(run_id, message.text)), 202)


async def recall_message(call: Call) -> Response:
    run_id = call.path("run_id")
    await call.hub.owned(run_id, call.principal.user)
    return answer(b.Recalled(await call.hub.journal.recall(run_id, call.path("message_id"))))


async def cancel_run(call: Call) -> Response:
    run_id = call.path("run_id")
    await _unfinished(call, run_id)
    await call.hub.cancel(run_id)
    return answer(b.Done(True), 202)


async def decide(call: Call) -> Response:
    run_id = call.path("run_id")
    records = await _unfinished(call, run_id)
    decision: b.Decision = call.body
    waiting = [waiting.call_id for waiting in waiting_calls(fold(records))]
    if decision.call_id not in waiting:
        raise conflict(
            f"the call {decision.call_id[:80]!r} does not wait for a decision; those that do: {', '.join(waiting) or 'none'}"
        )
    await call.hub.approve(run_id, decision.call_id, decision.allow, call.principal.user, decision.note)
    return answer(b.Done(True), 202)


async def _unfinished(call: Call, run_id: str) -> list[Record]:
    await call.hub.owned(run_id, call.principal.user)
    records = list(await call.hub.records(run_id))
    if fold(records).finished is not None:
        raise conflict("the run is finished: start another one in the same conversation")
    return records


async def resume_run(call: Call) -> Response:
    run_id = call.path("run_id")
    await _unfinished(call, run_id)
    await call.hub.resume(run_id, call.principal.key)
    return answer(b.Done(True), 202)


async def fork_run(call: Call) -> Response:
    run_id = call.path("run_id")
    await call.hub.owned(run_id, call.principal.user)
    fork: b.Fork = call.body
    run = await call.hub.fork(run_id, fork.at, user=call.principal.user, key=call.principal.key, message=fork.message)
    return answer(b.Created(run.id, run.id, f"/api/runs/{run.id}/events"), 201)


async def list_conversations(call: Call) -> Response:
    query: b.ConversationQuery = call.query
    return answer(
        b.ConversationList(group(await call.hub.journal.list(limit=query.limit, parent="", user=call.principal.user)))
    )


async def get_conversation(call: Call) -> Response:
    name = call.path("conversation_id")
    return answer(b.ConversationBody(name, b.lines(reversed(await _known_conversation(call, name)))))


async def delete_conversation(call: Call) -> Response:
    for info in await _known_conversation(call, call.path("conversation_id")):
        await call.hub.delete(info.run_id)
    return answer(b.Done(True))


async def _known_conversation(call: Call, name: str) -> list[RunInfo]:
    if not (runs := await _conversation_runs(call, name)):
        raise not_found(f"conversation {name[:80]!r}")
    return runs


_CHANGES = (404, 409)
OPERATIONS = (
    Operation(method="POST", path="/api/runs", handler=create_run, tag="runs", body=b.NewRun, errors=(404, 409),
              summary="Start a run. It goes on whether or not anybody follows it.", answers={201: b.Created, 200: b.Created}),
    Operation(method="GET", path="/api/runs", handler=list_runs, tag="runs", query=b.ListQuery, errors=(404,),
              summary="Runs, newest first.", answers={200: b.RunList}),
    Operation(method="GET", path="/api/runs/{run_id}", handler=get_run, tag="runs", errors=(404,),
              summary="Where a run stands.", answers={200: b.RunBody}),
    Operation(method="DELETE", path="/api/runs/{run_id}", handler=delete_run, tag="runs", errors=_CHANGES,
              summary="Delete a finished or paused run and its children.", answers={200: b.Done}),
    Operation(method="GET", path="/api/runs/{run_id}/events", handler=run_events, tag="runs", query=b.EventsQuery, errors=(404,),
              summary="Follow a run, from the beginning or from `Last-Event-ID` on; each event once, live or finished.",
              answers={200: "text/event-stream", 204: None}),
    Operation(method="GET", path="/api/runs/{run_id}/records", handler=run_records, tag="inspector", query=b.RecordsQuery, errors=(404,),
              summary="The run's log.", answers={200: b.RecordList}),
    Operation(method="GET", path="/api/runs/{run_id}/requests/{seq}", handler=run_request, tag="inspector", errors=_CHANGES,
              summary="The exact request a record sent to the model.", answers={200: b.RequestBody}),
    Operation(method="GET", path="/api/runs/{run_id}/artifacts/{name:path}", handler=run_artifact, tag="runs", query=b.ArtifactQuery,
              errors=_CHANGES, summary="What a tool made, to be shown in a sandbox.", answers={200: "*/*"}),
    Operation(method="POST", path="/api/runs/{run_id}/messages", handler=send_message, tag="runs", body=b.NewMessage, errors=_CHANGES,
              summary="Say something while the run works.", answers={202: b.Accepted}),
    Operation(method="DELETE", path="/api/runs/{run_id}/messages/{message_id}", handler=recall_message, tag="runs", errors=(404,),
              summary="Take back a message the run has not read yet.", answers={200: b.Recalled}),
    Operation(method="POST", path="/api/runs/{run_id}/cancel", handler=cancel_run, tag="runs", errors=_CHANGES,
              summary="Stop a run. Its log stays whole.", answers={202: b.Done}),
    Operation(method="POST", path="/api/runs/{run_id}/approvals", handler=decide, tag="runs", body=b.Decision, errors=_CHANGES,
              summary="Allow or refuse a call that waits for a person; the run goes on.", answers={202: b.Done}),
    Operation(method="POST", path="/api/runs/{run_id}/resume", handler=resume_run, tag="runs", errors=_CHANGES,
              summary="Go on with a run that was interrupted.", answers={202: b.Done}),
    Operation(method="POST", path="/api/runs/{run_id}/fork", handler=fork_run, tag="runs", body=b.Fork, errors=_CHANGES,
              summary="A new run that shares this one's records up to a point.", answers={201: b.Created}),
    Operation(method="GET", path="/api/conversations", handler=list_conversations, tag="conversations", query=b.ConversationQuery,
              summary="Conversations, the one that changed last first.", answers={200: b.ConversationList}),
    Operation(method="GET", path="/api/conversations/{conversation_id}", handler=get_conversation, tag="conversations", errors=(404,),
              summary="The runs of a conversation, oldest first.", answers={200: b.ConversationBody}),
    Operation(method="DELETE", path="/api/conversations/{conversation_id}", handler=delete_conversation, tag="conversations",
              errors=_CHANGES, summary="Delete a conversation with its runs.", answers={200: b.Done}),
)  # fmt: skip
