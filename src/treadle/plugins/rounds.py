"""What plug-ins that look at each round have in common."""

from __future__ import annotations

from treadle.types.state import RunState, Step


def last_round(state: RunState) -> list[Step]:
    """The calls of the latest reply that made some, with their results."""
    steps = state.steps
    start = len(steps)
    while start and steps[start - 1].iteration == steps[-1].iteration:
        start -= 1
    return steps[start:]


def last_note(state: RunState, component: str, key: str) -> object:
    """What the component noted last under this key; None when it never did."""
    notes = state.notes.get(component)
    return next((note[key] for note in reversed(notes) if note.get(key) is not None), None) if notes else None
