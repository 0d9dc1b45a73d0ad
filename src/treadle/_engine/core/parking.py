"""Runs that end the process that works on them: counted in their log, and after a few attempts left to a person."""

from __future__ import annotations

from collections.abc import Sequence

from treadle._types.events import (
    AnswerDone,
    ChildSpent,
    ContextCompacted,
    DagJudged,
    DagModeChosen,
    DagPlanned,
    Paused,
    Record,
    Resumed,
    StepDone,
    ThinkDone,
    ToolDone,
)

MAX_ATTEMPTS = 3
"""How often a run is resumed by itself without making any progress."""

_PROGRESS = (
    ThinkDone,
    ToolDone,
    StepDone,
    ChildSpent,
    ContextCompacted,
    DagModeChosen,
    DagPlanned,
    DagJudged,
    AnswerDone,
)
"""What a process that is killed does not have to do again."""


def attempts_without_progress(records: Sequence[Record]) -> int:
    """How often the run was resumed since it last got any further."""
    for record in reversed(records):
        if isinstance(record.event, _PROGRESS):
            return 0
        if isinstance(record.event, Resumed):
            return record.event.attempt
    return 0


def parked(run_id: str, attempts: int) -> Paused:
    """The end of resuming it automatically."""
    reason = (
        f"it was resumed {attempts} times and each time the process ended before the run got any further: "
        f"look at its last records, then continue it with: treadle runs resume {run_id}"
    )
    return Paused(reason, parked=attempts)
