"""What happens in a DAG run beside the loop: the mode, the plan of each round, its steps, the verdict."""

from __future__ import annotations

from msgspec import Struct

from treadle._types.usage import NO_USAGE, Usage, Work
from treadle._types.value import EventBase


class DagModeChosen(EventBase, frozen=True, tag="dag_mode_chosen"):
    """Whether a question gets a plan (`dag`) or one agent that works step by step (`loop`)."""

    mode: str


class DagPlanning(EventBase, frozen=True, tag="dag_planning"):
    """A plan is being made: the one before, if any, is over."""


class PlannedStep(Struct, frozen=True, omit_defaults=True, gc=False):
    """A step of a DAG plan."""

    id: str
    task: str
    dependencies: tuple[str, ...] = ()
    tool_hint: str = ""
    model_hint: str = ""


class DagPlanned(EventBase, frozen=True, tag="dag_planned"):
    """The plan of one round, before its first step starts."""

    round: int
    steps: tuple[PlannedStep, ...]
    notes: tuple[str, ...] = ()
    """What was corrected while the plan was read."""
    free_replans: int = 0
    """Re-plans that the user's messages caused, and that did not count as rounds."""


class DagJudged(EventBase, frozen=True, tag="dag_judged"):
    """The verdict about the work of one round."""

    round: int
    achieved: bool = False
    confidence: float = 0.0
    final_answer: str = ""
    reasoning: str = ""


class StepStarted(EventBase, frozen=True, tag="step_started"):
    """A step of a DAG begins, as the child run `run`."""

    step: str
    run: str
    task: str
    round: int = 1
    key: str = ""
    """The same for the same work on the same inputs."""


class StepDone(EventBase, frozen=True, tag="step_done"):
    """A step of a DAG ended."""

    step: str
    status: str
    """completed | failed | skipped | reused"""
    result: str = ""
    error: str = ""
    elapsed: float = 0.0
    usage: Usage = NO_USAGE
    round: int = 1
    key: str = ""
    stop_reason: str = ""
    """How the run of the step ended; empty where there was none."""
    work: Work | None = None
    """What the run of the step has done; None where nothing was done for it."""
