"""Questions about a run that several plug-ins ask."""

from __future__ import annotations

from treadle._engine.context import RunContext
from treadle._types.messages import ToolCall
from treadle._types.state import RunState
from treadle._types.state_values import Step


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


def last_note(state: RunState, component: str, key: str) -> object:
    """The component's latest note under this key; None when there is none."""
    notes = state.notes.get(component)
    return next((note[key] for note in reversed(notes) if note.get(key) is not None), None) if notes else None
