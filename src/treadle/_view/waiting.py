"""The calls that a paused run waits for."""

from __future__ import annotations

from treadle._types.messages import ToolCall
from treadle._types.state import RunState


def waiting_calls(state: RunState) -> tuple[ToolCall, ...]:
    """The calls a paused run waits for, without those that are decided or answered already."""
    if state.paused is None:
        return ()
    return tuple(call for call in state.paused.calls if not is_settled(state, call))


def is_settled(state: RunState, call: ToolCall) -> bool:
    """Return whether a call has its decision, or its result where it waits for one."""
    decision = state.calls.approvals.get(call.id)
    if call.external:  # it may have been allowed before, and waits all the same
        return call.id in state.calls.results or (decision is not None and not decision.allow)
    return decision is not None
