"""Questions about a run that several plug-ins ask."""

from __future__ import annotations

from treadle._engine.context import RunContext
from treadle._types.events import ContextCompacted, ToolDone
from treadle._types.messages import ToolCall
from treadle._types.state import RunState
from treadle._types.state_values import Step

OLD_RESULTS = "old results"
"""Why a request was made shorter: by cutting what can be had again."""


def last_round(state: RunState) -> list[Step]:
    """The calls of the latest reply that made some, with their results."""
    steps = state.steps
    start = len(steps)
    while start and steps[start - 1].iteration == steps[-1].iteration:
        start -= 1
    return steps[start:]


def same_calls(run: RunContext, call: ToolCall) -> list[Step]:
    """The steps that called this tool with these arguments."""
    return [step for step in run.state.steps if step.tool == call.name and step.wanted == call.args]


def out_of_sight(run: RunContext) -> frozenset[str]:
    """The calls whose results a summary or a note to call again has replaced: the model does not see them."""
    left: set[int] = set()
    ids: dict[int, str] = {}
    for record in run.records:
        event = record.event
        if isinstance(event, ToolDone):
            ids[record.seq] = event.call_id
        elif isinstance(event, ContextCompacted):
            left.update(event.covers, event.replaced if event.reason == OLD_RESULTS else ())
    return frozenset(ids[seq] for seq in left if seq in ids)


def last_note(state: RunState, component: str, key: str) -> object:
    """The component's latest note under this key; None when there is none."""
    notes = state.notes.get(component)
    return next((note[key] for note in reversed(notes) if note.get(key) is not None), None) if notes else None
