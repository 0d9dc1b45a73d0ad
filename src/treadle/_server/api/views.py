"""Response bodies about runs: their state, their records, and the exact request of any step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from treadle._engine.result import PendingCall, pending_calls
from treadle._inspect.replay import renderings
from treadle._journal.base import RunInfo
from treadle._journal.blobs import detached, parts_of
from treadle._server.api.bodies import (
    ArtifactBody,
    ComponentBody,
    RecordBody,
    RequestBody,
    RunBody,
    UsageBody,
    WaitingCall,
    lines,
)
from treadle._server.errors import conflict, not_found
from treadle._server.live.projection import usage_fields
from treadle._types.events import Artifact, Record, RunStarted, StepDone, ThinkStarted, ToolDone
from treadle._types.messages import MediaPart
from treadle._types.state import RunState, fold
from treadle._types.usage import Usage

_MAX_TEXT = 20_000
"""Characters; longer texts of a record are cut, the journal has them complete."""


def usage_body(usage: Usage) -> UsageBody:
    return UsageBody(**usage_fields(usage))


def run_body(info: RunInfo, records: Sequence[Record], *, live: bool, children: list[RunInfo]) -> RunBody:
    state, run_id = fold(records), info.run_id
    started = state.started or RunStarted("")
    finished = state.finished
    counters: dict[str, int] = msgspec.to_builtins(state.spending.counters)
    return RunBody(
        run_id=run_id,
        parent=records[0].parent,
        agent=started.agent,
        model=state.model,
        dialect=state.dialect,
        conversation=started.conversation,
        question=state.question,
        status=_status(state, driven=live or info.status == "running"),
        live=live,
        stop_reason=finished.stop_reason if finished else "",
        success=finished.success if finished else False,
        answer=_answer(state),
        output=finished.output if finished else None,
        ledger=list(state.ledger.entries),
        error=finished.error if finished else "",
        iterations=state.iteration,
        created=state.created,
        updated=state.updated,
        elapsed=state.elapsed,
        records=len(records),
        tools=[tool.name for tool in state.tools],
        usage=usage_body(state.usage),
        components={
            name: ComponentBody(spent.calls, spent.elapsed, usage_body(spent.usage))
            for name, spent in state.spending.components.items()
        },
        counters=counters,
        breaks=[why for _, why in state.conversation.breaks],
        artifacts=artifacts_of(records),
        waiting=waiting_bodies(run_id, state),
        children=lines(children),
        tags=info.tags,
        note=info.note,
        thumb=info.thumb,
    )


def _answer(state: RunState) -> str:
    """The answer, or what was written of it where the run has not ended; a failed run has none."""
    if state.finished is None:
        return state.answer.partial
    return state.finished.answer if state.finished.stop_reason != "error" else ""


def _status(state: RunState, *, driven: bool) -> Literal["running", "idle", "paused", "parked", "finished"]:
    if state.finished is not None:
        return "finished"
    if state.paused is not None:
        return "parked" if state.paused.parked else "paused"
    return "running" if driven else "idle"


def _how(run_id: str, call: PendingCall) -> str:
    path, example = ("results", {"content": "..."}) if call.external else ("approvals", {"allow": True})
    return f"POST /api/runs/{run_id}/{path} {msgspec.json.encode({'call_id': call.call_id, **example}).decode()}"


def waiting_bodies(run_id: str, state: RunState) -> list[WaitingCall]:
    return [
        WaitingCall(call.call_id, call.tool, call.args, call.why, _how(run_id, call), call.external)
        for call in pending_calls(state)
    ]


def artifacts_of(records: Sequence[Record]) -> list[ArtifactBody]:
    return [
        ArtifactBody(artifact.name, artifact.mime, artifact.summary, len(artifact.content), call_id)
        for record in records
        for call_id, artifact in _artifacts(record)
    ]


def _artifacts(record: Record) -> Iterator[tuple[str, Artifact]]:
    """Yield artifacts with the calls that made them: of this run, or of the runs that its steps were."""
    event = record.event
    if isinstance(event, ToolDone):
        yield from ((event.call_id, artifact) for artifact in event.artifacts)
    elif isinstance(event, StepDone) and event.stop_reason and event.work is not None:
        yield from ((call.call_id, artifact) for call in event.work.calls for artifact in call.artifacts)


def find_artifact(records: Sequence[Record], name: str, call_id: str) -> Artifact:
    """Return the newest artifact of that name, or the one that call `call_id` made."""
    for record in reversed(records):
        for made_by, artifact in _artifacts(record):
            if artifact.name == name and call_id in ("", made_by):
                return artifact
    raise not_found(f"artifact {name[:80]!r} in this run")


def record_body(record: Record) -> RecordBody:
    """Return a record with references (`blob`) in place of the contents of its images, sounds and files."""
    event: dict[str, Any] = _shortened(msgspec.to_builtins(detached(record.event)[0]))
    return RecordBody(record.seq, record.time, str(event.pop("type")), event)


def find_content(records: Sequence[Record], digest: str) -> tuple[MediaPart | Artifact, bytes]:
    """Find the content of an image, a sound, a file or an artifact of this run by its SHA-256."""
    for record in records:
        event, contents = detached(record.event)
        if digest in contents:
            part = next(part for part in parts_of(event) if part.blob == digest)
            return part, contents[digest]
    raise not_found(f"content {digest[:80]!r} in this run")


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return (
            value if len(value) <= _MAX_TEXT else f"{value[:_MAX_TEXT]} [... {len(value) - _MAX_TEXT} characters more]"
        )
    if isinstance(value, dict):
        return {str(key): _shortened(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - plain JSON
    if isinstance(value, list | tuple):
        return [_shortened(item) for item in value]  # pyright: ignore[reportUnknownVariableType] - plain JSON
    return value


def request_body(records: Sequence[Record], seq: int) -> RequestBody:
    """Render the request that record `seq` sent; its digest shows whether it is the same."""
    if not 0 <= seq < len(records):
        raise not_found(f"record {seq} in this run")
    if not isinstance(records[seq].event, ThinkStarted):
        requests = [str(record.seq) for record in records if isinstance(record.event, ThinkStarted)]
        raise conflict(f"record {seq} is not a model request; expected one of: {', '.join(requests[:50]) or 'none'}")
    rendering = next(rendering for rendering in renderings(records[: seq + 1]) if rendering.record.seq == seq)
    request, event = rendering.request, rendering.event
    messages: list[dict[str, Any]] = []
    for message, (seqs, component) in zip(request.messages, rendering.origins, strict=True):
        messages.append({**msgspec.to_builtins(detached(message)[0]), "from": component, "records": list(seqs)})
    options = {name: getattr(request, name) for name in ("tool_choice", "temperature", "max_tokens", "seed", "stop")}
    if request.format is not None:
        options["format"] = msgspec.to_builtins(request.format)
    return RequestBody(
        seq=seq,
        component=event.component,
        iteration=event.iteration,
        model=fold(records[:seq]).model,
        digest=event.digest,
        verified=rendering.digest == event.digest,
        messages=messages,
        tools=[msgspec.to_builtins(tool) for tool in request.tools],
        options=options,
    )
