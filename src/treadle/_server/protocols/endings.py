"""The end of a run, for a client of another protocol: why there is no answer, and whether the answer is whole."""

from __future__ import annotations

import re
from collections.abc import Sequence

from treadle._server.errors import ApiError
from treadle._types.events import Record, RunFinished, ThinkDone
from treadle._types.state import ANSWERING, CONVERSATION, RunState

_TRANSIENT = ("TransientModelError", "JournalError")
_REFUSED = "GuardrailError"
_ADDRESSES = re.compile(
    r"""\b[a-z][a-z0-9+.-]{0,20}://[^\s'"<>()]*[^\s'"<>().,:;]  # an address of the web
    |\(\s*'[^']*',\s*\d+(?:,\s*\d+)*\s*\)  # a host and its port, as the system names them
    |\[[0-9a-f:]{2,}\](?::\d+)?|(?<![\w:])(?:::|(?:[0-9a-f]{1,4}:){1,7}:)(?:[0-9a-f]{1,4}:?)+(?!\w)  # IPv6
    |(?<![\w:])(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}(?!\w)  # the same at full length
    |\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b  # IPv4
    |\b[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,20}:\d{2,5}\b|\b[a-z][a-z0-9-]{0,63}:\d{4,5}\b  # a host and its port""",
    re.VERBOSE | re.IGNORECASE,
)


def refuse_unless_answered(run_id: str, state: RunState) -> None:
    """Raise an error for a run without an answer. Its status is one that clients do not retry where a retry would fail
    again, or do the work twice."""
    if (paused := state.paused) is not None:
        path = f"/api/runs/{run_id}/approvals"
        text = f"run {run_id} waits for approval ({paused.reason}): decide at {path}"
        raise ApiError(422, "approval_required", text, again=False)
    finished = state.finished
    if finished is None:
        raise ApiError(503, "run_failed", "the run was interrupted before it had an answer: send the request again")
    error = why_failed(finished)
    if finished.stop_reason == "empty":  # it was asked again already, in the run
        raise ApiError(424, "empty_answer", error or "the model gave no answer", again=False)
    if finished.stop_reason == "cancelled":
        raise ApiError(424, "cancelled", f"run {run_id} was cancelled before it had an answer", again=False)
    if finished.stop_reason == "error" or (finished.error and not finished.answer):
        if finished.error_type == _REFUSED:
            raise ApiError(424, "refused", error, again=False)
        if finished.error_type in _TRANSIENT:
            raise ApiError(503, "run_failed", error)
        if finished.error_type == "ContextOverflowError":
            raise ApiError(400, "context_length_exceeded", error, again=False)
        if finished.error_type == "DuplicateToolError":  # the client's tool has the name of one the agent got later
            raise ApiError(400, "bad_request", error, again=False)
        raise ApiError(424, "run_failed", error or "the run failed", again=False)


def why_failed(finished: RunFinished) -> str:
    """Return the error of a run as a client may read it. For a refusal it is the guardrail's message: the journal has
    what the guardrail matched."""
    if finished.error_type == _REFUSED and finished.answer:
        return finished.answer
    return without_addresses(finished.error)


def without_addresses(text: str) -> str:
    """Remove addresses from an error: clients need not know the machines behind this server. The journal has the whole
    text."""
    return _ADDRESSES.sub("(address)", text)


def has_output_schema(state: RunState) -> bool:
    return state.started is not None and state.started.output_schema is not None


def is_cut_off(records: Sequence[Record]) -> bool:
    """Return whether the reply that was the answer ended at its limit of tokens."""
    for record in reversed(records):
        event = record.event
        if isinstance(event, ThinkDone) and event.component in (*CONVERSATION, *ANSWERING):
            return event.finish == "length"
    return False
