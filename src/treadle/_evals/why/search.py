"""The search for what made a run go wrong: economical, and with evidence for what it says.

First the same again, to see what chance does. Then each kind of change, the pieces of texts cut smaller where one
helps; and for what helps, by bisection, the last step at which it still does: there the run went wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from treadle._engine.run import Run
from treadle._evals.checks import Check
from treadle._evals.stats import Share
from treadle._evals.why import candidates
from treadle._evals.why.asking import Purse
from treadle._evals.why.changes import Change
from treadle._evals.why.experiments import Experiment, Lab
from treadle._evals.why.findings import Cause, Causes
from treadle._evals.why.judges import ByCheck, ByEnd, ByModel, Judge, expected, expected_by_mark
from treadle._evals.why.patches import patch_for, source_files
from treadle._flows.agent import Agent
from treadle._journal.memory import MemoryJournal
from treadle._models.base import Model
from treadle._models.catalog.registry import resolve_model
from treadle._safety.bounds import Count, bounded
from treadle._types.errors import BudgetExhaustedError, ConfigError, RunNotFoundError
from treadle._types.events import Record
from treadle._types.state import fold

_SCOPE = {
    "prompt": 0, "description": 0, "passage": 0, "result": 1, "setting": 2, "guard": 3, "tools": 4, "dialect": 5,
    "model": 6,
}  # fmt: skip
"""Of changes that help alike, the one that touches least is nearest to the cause."""
AGAIN_WHEN_RANDOM = 3


@bounded
async def find_causes(
    agent: Agent[Any, Any],
    run: str | Run[Any] | Sequence[Record],
    *,
    answer: str = "",
    call: str = "",
    args: dict[str, Any] | None = None,
    check: Check | None = None,
    judge_model: str | Model | None = None,
    models: Iterable[str | Model] = (),
    dialects: Iterable[str] = (),
    also: Iterable[tuple[Change, int]] = (),
    requests: Count = 120,
    cost: float | None = None,
    parallel: Count = 4,
    trials: Count = 1,
    files: Iterable[str | Path] = (),
    on_experiment: Callable[[Experiment], None] | None = None,
) -> Causes:
    """Find the smallest change with which a recorded run of `agent` would have gone right.

    The run is forked at its steps with one thing changed, and judged: by `check`, by what is expected (`answer`: a text
    or number in it; `call`: a tool, with `args`), by a person's note on the run (`expected: ...`), for a run that
    failed by how it ends, and as a last resort by `judge_model`. Nothing with an effect runs: `pure` tools only, all
    other results come from the log. `models` and `dialects` are others to try, `also` changes of your own with the
    step they begin at. At most `requests` model requests are made; what was begun is kept in the agent's journal, and
    the same call again goes on with it.
    """
    records = await _records(agent, run)
    purse = Purse(requests, cost)
    note = await _mark(agent, records[0].run)
    judge = _judge(records, (answer, call, args), check, note, judge_model, purse)
    named = {model.name: model for model in [*map(resolve_model, models), *agent.models[1:]]}
    lab = Lab(
        agent,
        records,
        judge,
        purse,
        journal=agent.journal or MemoryJournal(),
        models=named,
        parallel=parallel,
        on_experiment=on_experiment,
    )
    lab.trials = trials
    return await search(lab, dialects=[*dialects], also=[*also], files=[*map(Path, files)])


async def search(
    lab: Lab, *, dialects: Sequence[str] = (), also: Sequence[tuple[Change, int]] = (), files: Sequence[Path] = ()
) -> Causes:
    """The search itself, on a run that its lab knows."""
    judge, purse = lab.judge, lab.purse
    problem = await judge.judge(lab.state)
    if problem.right:
        raise ConfigError(f"nothing is wrong with this run by {judge.name}: say what was expected")
    if not lab.steps:
        raise ConfigError("this run made no model request in its loop: there is no step to fork it at")
    complete, repeated, until = True, None, 0
    spent, reused, usage = purse.requests, purse.reused, purse.usage
    try:
        again = await lab.try_one(Change("nothing"), lab.steps[0])
        if again.helps and lab.trials == 1:
            lab.trials = AGAIN_WHEN_RANDOM
            again = await lab.try_one(Change("nothing"), lab.steps[0])
        repeated = again.share
        if again.helps:
            until = await _last_step(lab, again)
        await _try_kinds(lab, dialects, also)
    except BudgetExhaustedError:
        complete = False
    found, whole = await _explained(lab, [*source_files(lab.agent), *files], repeated)
    used = purse.usage - usage
    return Causes(
        lab.records[0].run, judge.name, problem.why, tuple(found), tuple(lab.done), repeated, purse.requests - spent,
        purse.reused - reused, used.total_tokens, used.cost, complete and whole and not purse.out.is_set(),
        lab.left_out, until,
    )  # fmt: skip


async def _records(agent: Agent[Any, Any], run: str | Run[Any] | Sequence[Record]) -> list[Record]:
    if isinstance(run, Run):
        return list(run.records)
    if not isinstance(run, str):
        return list(run)
    if agent.journal is None:
        raise ConfigError("give the agent the journal that the run was recorded in, or give the run itself")
    return await agent.journal.load(run)


async def _mark(agent: Agent[Any, Any], run_id: str) -> str:
    """What a person has noted about the run."""
    try:
        return (await agent.journal.info(run_id)).note if agent.journal is not None else ""
    except RunNotFoundError:
        return ""


def _judge(
    records: Sequence[Record],
    wanted: tuple[str, str, dict[str, Any] | None],
    check: Check | None,
    note: str,
    model: str | Model | None,
    purse: Purse,
) -> Judge:
    if check is not None:
        return ByCheck(check)
    if wanted[0] or wanted[1]:
        return expected(*wanted)
    if (marked := expected_by_mark(note)) is not None:
        return marked
    finished = fold(records).finished
    if finished is None or not finished.success or finished.stop_reason not in ("answer", "final_tool"):
        return ByEnd()
    if model is not None:
        return ByModel(resolve_model(model), purse, note)
    raise ConfigError(
        "this run ended with an answer, so somebody has to say what is wrong with it: give what was expected "
        "(answer=..., or call=... with args=..., or a note on the run, 'expected: ...'), a check=..., or as a last "
        "resort a judge_model=..."
    )


async def _try_kinds(lab: Lab, dialects: Sequence[str], also: Sequence[tuple[Change, int]]) -> None:
    """Everything that could be the cause, the small changes first."""
    await lab.try_all(also)
    for helped in await lab.try_all(candidates.texts(lab)):
        if helped.helps:
            await _narrow(lab, helped)
    for helped in await lab.try_all(candidates.results(lab)):
        if helped.helps:
            await _narrow(lab, helped)
    await lab.try_all([*candidates.settings(lab), *candidates.guards(lab), *candidates.tools(lab)])
    await lab.try_all([*candidates.dialects(lab, dialects), *candidates.models(lab)])


async def _narrow(lab: Lab, helped: Experiment) -> None:
    """Which piece of a text that helps when it is gone is enough."""
    change = helped.change
    parts = candidates.pieces(change.before)
    if len(parts) < 2:
        return
    kind = "passage" if change.kind == "result" else change.kind
    smaller = [(Change(kind, change.name, part, record=change.record), helped.step) for part in parts]
    for part in await lab.try_all(smaller):
        if part.helps:
            await _narrow(lab, part)


def _ranked(lab: Lab, repeated: Share | None) -> list[Experiment]:
    """What helps more than the same again does, the best first."""
    chance = repeated.value if repeated else 0.0
    helping = [e for e in lab.done if e.change.kind != "nothing" and e.helps and e.share.value > chance]
    texts = [e for e in helping if e.change.before]

    def has_smaller(whole: Experiment) -> bool:
        """Whether a piece of it helps as well: then the piece is what matters."""
        return any(
            other.change.before != whole.change.before
            and other.change.before in whole.change.before
            and (other.change.record, other.change.name) == (whole.change.record, whole.change.name)
            and other.right >= whole.right
            for other in texts
        )

    kept = [e for e in helping if not (e.change.before and has_smaller(e))]
    return sorted(
        kept,
        key=lambda e: (
            -e.share.value,
            bool(e.unknown),
            _SCOPE[e.change.kind],
            max(1, e.step),
            e.change.size,
        ),
    )


async def _explained(lab: Lab, files: Sequence[Path], repeated: Share | None) -> tuple[list[Cause], bool]:
    causes: list[Cause] = []
    whole = True
    for rank, experiment in enumerate(_ranked(lab, repeated)):
        last = experiment.step
        if rank == 0:  # where it went wrong is the same place for all of them
            try:
                last = await _last_step(lab, experiment)
            except BudgetExhaustedError:
                whole = False
        causes.append(Cause(experiment, last, await lab.difference(experiment), patch_for(experiment.change, files)))
    return causes, whole


async def _last_step(lab: Lab, helped: Experiment) -> int:
    """By bisection: the change helps at the first of these steps, and is too late at some."""
    steps = [step for step in lab.steps if step >= helped.step] or [helped.step]
    low, high = 0, len(steps)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            later = await lab.try_one(helped.change, steps[middle])
        except ConfigError:  # what would be changed has left the window by then
            high = middle
            continue
        low, high = (middle, high) if later.helps else (low, middle)
    return steps[low]
