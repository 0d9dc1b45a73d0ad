"""What a run is doing now, in a few words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treadle._types import events as ev

_OF_COMPONENTS = {
    "loop": "thinking",
    "repair": "thinking",
    "planner": "planning",
    "plan": "planning",
    "selection": "choosing tools",
    "observer": "checking progress",
    "analysis": "analysing the task",
    "reflection": "reflecting",
    "rewrite": "understanding the question",
    "synthesis": "writing the answer",
    "complete": "writing the answer",
    "own_words": "writing the answer",
    "final": "writing the answer",
    "salvage": "writing the answer",
    "context": "compacting the context",
}
_OF_PHASES = {
    "executing": "working on the plan",
    "analyzing": "checking the results",
}


def activity_of_component(component: str) -> str:
    """Return what a run does while this component asks the model."""
    return _OF_COMPONENTS.get(component, "thinking")


def _phase(event: ev.PhaseChanged) -> str | None:
    if ": " in event.phase:  # it tells something that happened, not what goes on
        return None
    return _OF_PHASES.get(event.phase, event.phase.replace("_", " "))


ACTIVITIES: dict[type, Callable[[Any], str | None]] = {
    ev.ToolSelectionStarted: lambda event: f"choosing among {event.total_tools} tools",
    ev.DagPlanning: lambda event: "planning",
    ev.DagPlanned: lambda event: "working on the plan",
    ev.AnswerOnly: lambda event: "answering with what is known",
    ev.PhaseChanged: _phase,
}
"""What a run does from an event on; None where that event does not say."""
