"""Over a set of tasks: which single change fixes most of the failed runs and breaks none of those that passed.

First each failed run is searched for causes; then what helped one of them, and can be made in any run (a line of the
prompt, a setting, a tool's description), is tried on all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from msgspec import Struct

from treadle._inspect.evals.runner import Trial, Variant, agent_for
from treadle._inspect.evals.tasks import TaskSet
from treadle._inspect.why.budgeted_model import SearchBudget
from treadle._inspect.why.changes import Change
from treadle._inspect.why.experiments import Experiment, Lab
from treadle._inspect.why.findings import Causes
from treadle._inspect.why.judges import ByCheck
from treadle._inspect.why.ranking import scope
from treadle._inspect.why.search import search
from treadle._journal.base import Journal
from treadle._safety.bounds import Count, bounded
from treadle._types.errors import BudgetExhaustedError, ConfigError

_OF_ONE_RUN = ("nothing", "result", "passage", "again", "route")
"""Changes to what only one run has."""


class Fix(Struct, frozen=True):
    """A change, and what it does to the tasks of a set."""

    change: Change
    fixes: tuple[str, ...]
    """The ids of the tasks that failed and go right with it."""
    breaks: tuple[str, ...]
    """The ids of the tasks that had passed and go wrong with it."""
    unclear: tuple[str, ...] = ()
    """Tasks with which it could not be tried: nothing to change there, or the limit was reached."""


class Fixes(Struct, frozen=True):
    """The result of `find_fixes`, the best change first."""

    fixes: tuple[Fix, ...]
    causes: dict[str, Causes]
    """The causes of each failed task, by its id."""
    requests: int
    complete: bool

    def __str__(self) -> str:
        lines: list[str] = []
        for rank, fix in enumerate(self.fixes, 1):
            broken = f"breaks {len(fix.breaks)} ({', '.join(fix.breaks)})" if fix.breaks else "breaks none"
            unclear = f", {len(fix.unclear)} not tried" if fix.unclear else ""
            lines.append(f"{rank}. {fix.change}: fixes {len(fix.fixes)} ({', '.join(fix.fixes)}), {broken}{unclear}")
        for task, causes in self.causes.items():
            first = str(causes.causes[0].change) if causes.causes else "no single change helps"
            lines.append(f"{task}: {first} (run {causes.run[:8]})")
        end = "" if self.complete else "; not finished: the same again with a larger limit goes on from here"
        return "\n".join([*lines, f"{self.requests} model requests{end}"])


@bounded
async def find_fixes(
    tasks: TaskSet,
    variant: Variant,
    trials: Sequence[Trial],
    *,
    journal: Journal,
    requests: Count = 400,
    parallel: Count = 4,
    most: Count = 8,
    on_experiment: Callable[[Experiment], None] | None = None,
) -> Fixes:
    """Search the failed trials of a variant for causes, and try the `most` frequent ones on all tasks. `journal` is the
    one that the trials were recorded in."""
    budget = SearchBudget(requests)
    by_id = {task.id: task for task in tasks.tasks}
    own = [trial for trial in trials if trial.variant == variant.label and trial.repeat == 0 and trial.task in by_id]
    labs: dict[str, Lab] = {}
    for trial in own:
        agent = agent_for(tasks, variant, by_id[trial.task], journal)
        records = await journal.load(trial.run_id)
        judge = ByCheck(by_id[trial.task].check, "the check of the task")
        labs[trial.task] = Lab(
            agent, records, judge, budget, journal=journal, parallel=parallel, on_experiment=on_experiment
        )
        labs[trial.task].inside = trial.run_id
    failed = [trial.task for trial in own if not trial.passed]
    causes: dict[str, Causes] = {}
    for task in failed:
        try:
            causes[task] = await search(labs[task])
        except ConfigError:  # no step to fork it at, or stopped by the clock: nothing can be said about it
            continue
    wanted: dict[str, tuple[Change, list[str]]] = {}  # by their text: the value of a setting may be anything
    for task, result in causes.items():
        for cause in result.causes:
            if cause.change.kind not in _OF_ONE_RUN:
                wanted.setdefault(repr(cause.change), (cause.change, []))[1].append(task)
    by_number = sorted(wanted.values(), key=lambda pair: (-len(pair[1]), pair[0].size))
    promising = [change for change, _ in by_number[:most]]
    tried = await asyncio.gather(*(_everywhere(change, labs, failed) for change in promising))
    # What breaks nothing comes first, however much another one fixes.
    ranked = sorted(
        tried, key=lambda fix: (bool(fix.breaks), len(fix.breaks) - len(fix.fixes), scope(fix.change), fix.change.size)
    )
    return Fixes(tuple(ranked), causes, budget.requests, not budget.out.is_set())


async def _everywhere(change: Change, labs: dict[str, Lab], failed: Sequence[str]) -> Fix:
    fixes: list[str] = []
    breaks: list[str] = []
    unclear: list[str] = []
    for task, lab in labs.items():
        try:
            # From the beginning, and in the run's own way: a change that is needed later is there then, too.
            experiment = await lab.try_one(change, lab.steps[0] if lab.steps else 0)
        except (ConfigError, BudgetExhaustedError):
            unclear.append(task)
            continue
        right = experiment.right * 2 > experiment.trials
        if task in failed and right:
            fixes.append(task)
        elif task not in failed and not right:
            breaks.append(task)
    return Fix(change, tuple(fixes), tuple(breaks), tuple(unclear))
