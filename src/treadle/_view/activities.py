"""What a run is doing now, in a few words."""

from __future__ import annotations

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
    """What a run does while this component asks the model."""
    return _OF_COMPONENTS.get(component, "thinking")


def activity_of(event: ev.Event) -> str | None:
    """What a run does from this event on; None where the event does not say."""
    match event:
        case ev.ToolSelectionStarted():
            return f"choosing among {event.total_tools} tools"
        case ev.DagPlanning():
            return "planning"
        case ev.DagPlanned():
            return "working on the plan"
        case ev.AnswerOnly():
            return "answering with what is known"
        case ev.PhaseChanged() if ": " not in event.phase:
            return _OF_PHASES.get(event.phase, event.phase.replace("_", " "))
        case _:
            return None
