"""The search for what made a run go wrong: economical, and with evidence for what it says.

First the same again, to see what chance does. Then each kind of change, the pieces of texts cut smaller where one
helps; what helps equally is tried again with neutral words around it; and for what helps best, by bisection, the last
step at which it still does: there the run went wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle._agent.agent import Agent
from treadle._agent.agent_tool import DELEGATE
from treadle._agent.checks import check_dialect
from treadle._engine.run import Run
from treadle._flows.flow import FlowAgent
from treadle._inspect.evals.checks import Check
from treadle._inspect.evals.stats import Share
from treadle._inspect.why import candidates, reasons
from treadle._inspect.why.budgeted_model import SearchBudget
from treadle._inspect.why.changes import Change
from treadle._inspect.why.effects import Guesses, StandIn, Stub, Stubs
from treadle._inspect.why.experiments import Experiment, Lab
from treadle._inspect.why.findings import Cause, Causes
from treadle._inspect.why.judges import ByEnd, ByMarks, ByModel, Custom, Judge, judge_for
from treadle._inspect.why.marks import Mark, check_step, marks_in
from treadle._inspect.why.notebook import Notebook
from treadle._inspect.why.patches import patch_for
from treadle._inspect.why.pieces import pieces
from treadle._inspect.why.points import Plan, fork_points, plan, tried_at
from treadle._inspect.why.ranking import ranked
from treadle._inspect.why.variants import GUARDS, name_of, plugins_of
from treadle._journal.memory import MemoryJournal
from treadle._models.base import Model
from treadle._models.catalog.registry import resolve_model
from treadle._safety.bounds import Count, bounded
from treadle._types.errors import BudgetExhaustedError, ConfigError, RunNotFoundError
from treadle._types.events import Record, StepStarted
from treadle._types.state import fold

AGAIN_WHEN_RANDOM = 3
SHAKEN = 3
"""How often what helps is tried with neutral words around it, where several changes help."""
SHAKEN_MOST = 4
"""How many of them."""


class Wanted(Struct, frozen=True):
    """Changes that the caller wants to be tried too."""

    dialects: Sequence[str] = ()
    lines: Sequence[str] = ()
    guards: Sequence[str] = ()
    also: Sequence[tuple[Change, int]] = ()
    files: Sequence[Path] = ()


@bounded
async def find_causes(
    agent: Agent[Any, Any],
    run: str | Run[Any] | Sequence[Record],
    *,
    answer: str = "",
    call: str = "",
    args: dict[str, Any] | None = None,
    step: int = 0,
    check: Check | Custom | None = None,
    judge_model: str | Model | None = None,
    models: Iterable[str | Model] = (),
    dialects: Iterable[str] = (),
    lines: Iterable[str] = (),
    guards: Iterable[str] = (),
    also: Iterable[tuple[Change, int]] = (),
    requests: Count = 120,
    cost: float | None = None,
    parallel: Count = 4,
    trials: Count = 1,
    files: Iterable[str | Path] = (),
    stubs: Mapping[str, Stub] | None = None,
    stand_ins: Iterable[StandIn] = (),
    guess: bool = False,
    on_plan: Callable[[Plan], None] | None = None,
    on_experiment: Callable[[Experiment], None] | None = None,
) -> Causes:
    """Find the smallest change with which a recorded run of `agent` would have gone right.

    A fork is judged by `check`, by what is expected (`answer`: a text or number in it; `call`: a tool, with `args`; of
    the whole run or of `step`), by a person's mark (`mark_wrong`), by how it ends if it failed, and as a last resort by
    `judge_model`. Results that the log does not have come from `stubs` (a text or a function by the name of a tool),
    `stand_ins` of your own, or with `guess` from the agent's model. `models`, `dialects`, `lines` of the prompt and
    `guards` are others to try, `also` changes of your own with the step they begin at. The same call again goes on with
    a search that was stopped.
    """
    records = await _records(agent, run)
    if not records:
        raise ConfigError("the log of the run is empty: there is nothing to search")
    wanted = Wanted([*dialects], [*lines], [*guards], [*also], [*map(Path, files)])
    expectations = _expectations(records, answer, call, args, step)
    _check(wanted)
    budget = SearchBudget(requests, cost)
    note = await _note(agent, records[0].run)
    marks = expectations or marks_in(note)
    judge = judge_for(records, marks, check, note, judge_model, budget, by_person=not expectations)
    named = {model.name: model for model in [*map(resolve_model, models), *agent.models[1:]]}
    lab = Lab(
        agent,
        records,
        judge,
        budget,
        journal=agent.journal or MemoryJournal(),
        models=named,
        stand_ins=[
            *([Stubs(stubs)] if stubs else []),
            *stand_ins,
            *([Guesses(agent.models[0], budget, records)] if guess else []),
        ],
        parallel=parallel,
        on_experiment=on_experiment,
    )
    lab.trials = trials
    if on_plan is not None:
        on_plan(plan(lab, len(_planned(lab, wanted))))
    return await _with_files(lab, wanted, marks)


async def _with_files(lab: Lab, wanted: Wanted, marks: Sequence[Mark]) -> Causes:
    """Search with the files that the run worked on at hand, where it had a workspace."""
    files = None
    if lab.state.workspace is not None:
        from treadle._inspect.why.workspace import workspace_stand_in  # most runs have none

        files = workspace_stand_in(plugins_of(lab.agent, lab.settings), lab.records, lab.journal)
    if files is None:
        return await search(lab, wanted, marks)
    lab.stand_ins = (files, *lab.stand_ins)
    try:
        return await search(lab, wanted, marks)
    finally:
        await files.close()


def _expectations(
    records: Sequence[Record], answer: str, call: str, args: dict[str, Any] | None, step: int
) -> list[Mark]:
    """Return what the caller expects as marks. Raises `ConfigError` if no run could meet them."""
    if args and not call:
        raise ConfigError("args are those of a call: name its tool with call='...'")
    if step and not (answer or call):
        raise ConfigError("step says where something was expected: say what, with answer='...' or call='...'")
    check_step(records, step)
    marks = [Mark(step, answer)] if answer else []
    return [*marks, Mark(step, "", call, args)] if call else marks


def _check(wanted: Wanted) -> None:
    """Refuse what cannot be tried before any request is made."""
    for name in wanted.dialects:
        check_dialect(name)
    for name in wanted.guards:
        if name not in GUARDS:
            raise ConfigError(f"there is no guard {name!r}; expected one of: {', '.join(GUARDS)}")
    for path in wanted.files:
        if not path.is_file():
            raise ConfigError(f"there is no file {str(path)!r} to look for the cause in")


async def search(lab: Lab, wanted: Wanted | None = None, marks: Sequence[Mark] = ()) -> Causes:
    """Search for the causes of the run of a lab, and write the progress to the journal."""
    spent = lab.budget.requests
    problem = await lab.judge.judge(lab.state)
    if problem.right:
        raise ConfigError(f"nothing is wrong with this run by {lab.judge.name}: say what was expected")
    flow = isinstance(lab.agent, FlowAgent)
    if not lab.steps and not flow:
        raise ConfigError("this run made no model request in its loop: there is no step to fork it at")
    await _read_inside(lab)
    notebook = Notebook(lab.journal, lab.records[0].run, lab.state)
    await notebook.open(lab.judge.name, problem.why)
    lab.notebook = notebook
    if isinstance(lab.judge, ByModel):
        lab.judge.remember(notebook)
    try:
        wanted = wanted or Wanted()
        causes = await _chosen(lab, wanted.files, marks, problem.why, spent) if flow else None
        inside = await _inside(lab, wanted.files, marks) if causes is None else ()
        if inside and (inside[0].causes or inside[0].inside):  # what it was told there it repeats here
            causes = msgspec.structs.replace(inside[0], run=lab.records[0].run, causes=(), located=None, inside=inside)
        elif causes is None:
            causes = await _search(lab, wanted, marks, problem.why, spent)
            causes = msgspec.structs.replace(causes, inside=inside)
        await notebook.close(str(causes), complete=causes.complete, data=_report(causes))
    finally:
        lab.notebook = None
        await notebook.close()
    return causes


async def _read_inside(lab: Lab) -> None:
    """Read the logs of the runs that a plan or document is made of: experiments answer calls from them."""
    if lab.flow is not None and not lab.logs:
        for record in lab.records:
            if isinstance(record.event, StepStarted):
                with suppress(RunNotFoundError):  # a component that is no agent has no run
                    lab.logs[record.event.run] = await lab.journal.load(record.event.run)


async def _chosen(lab: Lab, files: Sequence[Path], marks: Sequence[Mark], problem: str, spent: int) -> Causes | None:
    """Search what a plan or document asks and chooses itself; None where that is not the cause. Why a component has
    chosen the wrong way is looked for in its run."""
    expected = ByMarks([mark for mark in marks if mark.answer and not mark.step])
    right = [run for run, log in lab.logs.items() if expected.wanted and (await expected.judge(fold(log))).right]
    if not (tried := reasons.of_flow(lab, bool(right))):
        return None
    found = await _search(lab, Wanted(files=files), marks, problem, spent, tried)
    if not found.causes:
        return None
    way = found.causes[0].experiment
    if way.change.kind == "route":
        for run, agent in _parts(lab):
            if lab.state.dag.runs.get(way.change.name) == run:
                inner = await _one_inside(lab, run, agent, ByMarks([Mark(answer=way.change.after)]), files)
                if inner is not None and inner.causes:
                    return msgspec.structs.replace(found, causes=(), located=way, inside=(inner,))
    return found


async def _one_inside(
    lab: Lab, run: str, agent: Agent[Any, Any], judge: Judge, files: Sequence[Path], marks: Sequence[Mark] = ()
) -> Causes | None:
    """Search a run inside; None where it went right, or cannot be searched."""
    try:
        records = lab.logs.get(run) or await lab.journal.load(run)
        inner = Lab(agent, records, judge, lab.budget, journal=lab.journal, stand_ins=lab.stand_ins)
        return await search(inner, Wanted(files=files), marks)
    except (ConfigError, RunNotFoundError):
        return None


async def _inside(lab: Lab, files: Sequence[Path], marks: Sequence[Mark]) -> tuple[Causes, ...]:
    """Search the runs that this one rests on, the last one first: what is wrong there is wrong here. Where the wrong
    value only passed through a run, those before it are searched as well."""
    flow = isinstance(lab.agent, FlowAgent)
    wanted = [mark for mark in marks if (mark.answer or flow) and not mark.step]
    judge = ByMarks(wanted) if wanted else ByEnd()
    passed: tuple[Causes, ...] = ()
    for run, agent in _parts(lab) if wanted or flow else ():
        causes = await _one_inside(lab, run, agent, judge, files, wanted)
        if causes is None:
            continue
        if causes.causes or any(one.places for one in causes.inside):
            return (causes,)
        if causes.places or flow:
            passed = passed or (causes,)
    return passed


def _parts(lab: Lab) -> Iterator[tuple[str, Agent[Any, Any]]]:
    """Yield the runs of the agents that were asked and of the steps of a plan or document, with their agents."""
    for step in reversed(lab.state.steps):
        tool = lab.agent.toolkit.get(step.tool)
        delegate = getattr(tool.execute, DELEGATE, None) if tool is not None else None
        if isinstance(delegate, Agent):
            yield f"{lab.records[0].run}.{step.call_id}", cast("Agent[Any, Any]", delegate)
    if isinstance(lab.agent, FlowAgent):
        results = {done.step: done.result for done in lab.state.dag.steps.values()}
        begun = [record.event for record in reversed(lab.records) if isinstance(record.event, StepStarted)]
        # Those first whose result the wrong answer has words of.
        for started in sorted(begun, key=lambda event: lab.blame(results.get(event.step, "")) == 0):
            if (agent := lab.agent.part(started, lab.state)) is not None:
                yield started.run, agent


def _report(result: Causes) -> dict[str, Any]:
    return {
        "causes": [
            {
                "change": str(cause.change),
                "run": cause.experiment.runs[0],
                "difference": cause.difference,
                "patch": cause.patch,
                "step": cause.experiment.step,
                "last_step": cause.last_step,
                "share": str(cause.experiment.share),
            }
            for cause in result.causes
        ],
        "located": str(result.located.change) if result.located else "",
        "requests": result.requests,
        "reused": result.reused,
        "tokens": result.tokens,
        "cost": result.cost,
        "complete": result.complete,
    }


async def _search(
    lab: Lab, wanted: Wanted, marks: Sequence[Mark], problem: str, spent: int, only: Sequence[tuple[Change, int]] = ()
) -> Causes:
    judge, budget = lab.judge, lab.budget
    complete, repeated, until = True, None, 0
    reused, usage = budget.reused, budget.usage
    try:
        begin = min(step for _, step in only) if only else lab.steps[-1] if lab.long else lab.steps[0]
        again = await lab.try_one(Change("nothing"), begin)
        if again.helps and lab.trials == 1:
            lab.trials = AGAIN_WHEN_RANDOM
            again = await lab.try_one(Change("nothing"), begin)
        repeated = again.share
        if again.helps:
            until = await _last_step(lab, again)
        if only:
            await _with_narrowing(lab, only)
            repeated = await _chance(lab, repeated)
        elif not (again.right == again.trials and suspects(lab)):  # else a plug-in that took no part was the cause
            await _locate(lab, marks)
            if not (lab.long and await _backwards(lab, wanted, repeated)):
                await _try_kinds(lab, wanted, marks)
            lab.from_the_start = await _from_the_start(lab)
            if not _helping(lab, repeated):
                await _with_narrowing(lab, candidates.finest(lab))
            repeated = await _chance(lab, repeated)
            await _shake(lab, repeated)
    except BudgetExhaustedError:
        complete = False
    causes, whole = await _explained(lab, wanted.files, repeated)
    used = budget.usage - usage
    return Causes(
        lab.records[0].run, judge.name, problem, tuple(causes), tuple(lab.done), repeated, budget.requests - spent,
        budget.reused - reused, used.total_tokens, used.cost, complete and whole and not budget.out.is_set(),
        lab.left_out, until, _located(lab),
    )  # fmt: skip


def _helping(lab: Lab, repeated: Share | None) -> list[Experiment]:
    """Rank what may be the cause, the best first."""
    return ranked(lab.candidates, repeated, lab.from_the_start)


async def _locate(lab: Lab, marks: Sequence[Mark]) -> None:
    """Put what was expected where the wrong value stands. It says where that comes from; a cause it is not."""
    tried = candidates.corrected(lab, _expected(lab.judge, marks))
    lab.locating |= {repr(change) for change, _ in tried}
    await lab.try_all(tried_at(tried, lab.steps[-1]) if lab.long else tried)


def _located(lab: Lab) -> Experiment | None:
    return next((one for one in lab.done if one.helps and repr(one.change) in lab.locating), None)


async def _backwards(lab: Lab, wanted: Wanted, repeated: Share | None) -> bool:
    """Search a long run from its end: first what its log accuses, then every suspect where it is cheapest to try.
    Return whether something helps."""
    await lab.try_all([*wanted.also, *reasons.accused(lab)])
    if _helping(lab, repeated):
        return True
    points = fork_points(lab)
    for index, point in enumerate(points):
        before = lab.budget.requests
        share = (lab.budget.limit - before) // 2
        doubted = candidates.texts(lab) if _helping(lab, repeated) else _suspects(lab, late=index == 0)
        suspects = tried_at(doubted, point)
        for start in range(0, len(suspects), _AT_ONCE):
            if lab.budget.requests - before >= share and index < len(points) - 1:
                break
            await _with_narrowing(lab, suspects[start : start + _AT_ONCE])
        helping = _helping(lab, repeated)
        if index == 0 and not helping:
            left = max(0, share - (lab.budget.requests - before))
            await _with_narrowing(lab, tried_at(candidates.finest(lab), point)[:left])
            helping = _helping(lab, repeated)
        asked = {lab.asked_at[one.change.record] for one in helping if one.change.record in lab.asked_at}
        if helping and all(one.change.kind != "result" and one.change.record not in lab.asked_at for one in helping):
            return True
        # That it goes right without a result, or a part of it, does not say why it was asked for: that comes next.
        if helping:
            points[index + 1 :] = sorted(asked - {*points[: index + 1]}, reverse=True)[:1]
    return bool(_helping(lab, repeated))


_AT_ONCE = 8
"""How many experiments are begun before it is looked what they have cost."""


def _suspects(lab: Lab, *, late: bool) -> list[tuple[Change, int]]:
    """List what may be the cause, in the order of what the log gives against it."""
    texts, results = candidates.texts(lab), candidates.results(lab)
    own = [pair for pair in texts if pair[0].kind != "passage"]
    beside = [pair for pair in texts if pair[0].kind == "passage"]
    other = [*reasons.settings(lab), *reasons.guards(lab)]
    if late:  # without a tool it has to answer, which says nothing about the tool
        return [*own, *results, *beside, *candidates.again(lab), *other]
    return [*texts, *results, *other, *reasons.tools(lab)]


def _planned(lab: Lab, wanted: Wanted) -> list[tuple[Change, int]]:
    return [*wanted.also, *_suspects(lab, late=False), *candidates.again(lab), *reasons.thresholds(lab)]


def suspects(lab: Lab) -> list[str]:
    """Plug-ins that take no part in experiments and may be the cause: the user's own, and any that left a trace."""
    own = {name_of(plugin) for plugin in lab.agent.plugins}
    traces = {str(getattr(record.event, "component", "")) for record in lab.records}
    return [name for name in lab.left_out if name in own or name in traces]


async def _from_the_start(lab: Lab) -> Experiment | None:
    """Repeat the run from before its plug-ins start, to see whether leaving some of them out helps by itself."""
    if not lab.left_out or not any(e.helps and e.step == 0 for e in lab.done):
        return None
    return await lab.try_one(Change("nothing"), 0)


async def _records(agent: Agent[Any, Any], run: str | Run[Any] | Sequence[Record]) -> list[Record]:
    if isinstance(run, Run):
        return list(run.records)
    if not isinstance(run, str):
        return list(run)
    if agent.journal is None:
        raise ConfigError("give the agent the journal that the run was recorded in, or give the run itself")
    return await agent.journal.load(run)


async def _note(agent: Agent[Any, Any], run_id: str) -> str:
    """Read the note of a run."""
    try:
        return (await agent.journal.info(run_id)).note if agent.journal is not None else ""
    except RunNotFoundError:
        return ""


async def _try_kinds(lab: Lab, wanted: Wanted, marks: Sequence[Mark]) -> None:
    """Try everything that could be the cause, small changes first."""
    await lab.try_all([*wanted.also, *reasons.accused(lab)])
    texts = [*candidates.texts(lab), *candidates.results(lab)]
    await _with_narrowing(lab, [pair for pair in texts if lab.blame(pair[0].before) > 0])
    await _with_narrowing(lab, [pair for pair in texts if lab.blame(pair[0].before) == 0])
    await lab.try_all([*reasons.settings(lab), *candidates.again(lab), *reasons.thresholds(lab), *reasons.guards(lab)])
    await lab.try_all(reasons.tools(lab))
    calls = [mark.call for mark in marks if mark.call]
    await lab.try_all(reasons.additions(lab, calls, wanted.lines, wanted.guards))
    await lab.try_all([*reasons.dialects(lab, wanted.dialects), *reasons.models(lab)])


def _expected(judge: Judge, marks: Sequence[Mark]) -> list[str]:
    """Texts that the answer should have had, where somebody has said so."""
    return [*dict.fromkeys([*(mark.answer for mark in marks if mark.answer), *getattr(judge, "wanted", ())])]


async def _with_narrowing(lab: Lab, tried: Sequence[tuple[Change, int]]) -> None:
    for helped in await lab.try_all(tried):
        if helped.helps:
            await _narrow(lab, helped)


async def _narrow(lab: Lab, helped: Experiment) -> None:
    """Try smaller pieces of a change that helps."""
    change = helped.change
    if change.records:
        groups = candidates.groups(lab, change.records)
        await _with_narrowing(lab, tried_at(groups, helped.step) if lab.long else groups)
        return
    parts = pieces(change.before)
    if len(parts) < 2 or (change.kind == "passage" and change.name == "history" and change.record < 0):
        return
    kind = "passage" if change.kind == "result" else change.kind
    smaller = [(Change(kind, change.name, part, record=change.record), helped.step) for part in parts]
    await _with_narrowing(lab, smaller)


async def _chance(lab: Lab, repeated: Share | None) -> Share | None:
    """How often the same again goes right, once something seems to help. That it failed when it was repeated once says
    little of a model that is right now and then; if that is what it is, what helped is repeated as well."""
    best = _helping(lab, repeated)
    if lab.trials > 1 or not best or lab.agent.settings.temperature == 0:
        return repeated
    begin = best[0].step if lab.long or lab.flow else lab.steps[0]
    again = await lab.try_one(Change("nothing"), begin, trials=AGAIN_WHEN_RANDOM)
    if not again.helps:
        return repeated
    lab.trials = AGAIN_WHEN_RANDOM
    while todo := [e for e in _helping(lab, again.share) if e.trials < lab.trials]:
        await lab.try_all([(experiment.change, experiment.step) for experiment in todo])
    return again.share


async def _shake(lab: Lab, repeated: Share | None) -> None:
    """Repeat changes that help with neutral words added, which shows those that helped by luck.

    Only where several changes help, and chance is not measured already.
    """
    best = _helping(lab, repeated)
    if lab.trials > 1 or len(best) < 2:
        return
    for experiment in best[:SHAKEN_MOST]:
        await lab.try_one(experiment.change, experiment.step, trials=SHAKEN, shaken=True)


async def _explained(lab: Lab, files: Sequence[Path], repeated: Share | None) -> tuple[list[Cause], bool]:
    causes: list[Cause] = []
    whole = True
    if without := _without_plugins(lab, repeated):
        causes.append(Cause(without, without.step, ""))
    for rank, experiment in enumerate(_helping(lab, repeated)):
        last = experiment.step
        # Where it went wrong is the same place for all of them; a component chooses its way once.
        if rank == 0 and not causes and experiment.change.kind != "route":
            try:
                last = await _last_step(lab, experiment)
            except BudgetExhaustedError:
                whole = False
        patch, file = patch_for(experiment.change, files, lab.agent)
        causes.append(Cause(experiment, last, await lab.difference(experiment), patch, file))
    return causes, whole


def _without_plugins(lab: Lab, repeated: Share | None) -> Experiment | None:
    """Without the plug-ins that may not take part, the same again always goes right: one of them it was, or chance."""
    names = suspects(lab)
    same: Experiment | None = None
    if repeated is not None and repeated.value == 1:
        same = next(e for e in reversed(lab.done) if e.change.kind == "nothing" and e.trials == repeated.tasks)
    elif lab.from_the_start is not None and lab.from_the_start.share.value == 1:
        same = lab.from_the_start
    return msgspec.structs.replace(same, change=Change("guard", ", ".join(names))) if names and same else None


async def _last_step(lab: Lab, helped: Experiment) -> int:
    """Find the last step at which the change still helps, by bisection."""
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
