"""Experiments: forks of a run at a step, each with one change, run safely and judged.

An experiment is a run of the journal like any other. Its id is made of what it is, so that a search that was stopped
finds what it has done: a finished experiment is read, one under way is resumed, nothing is done twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from difflib import unified_diff
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

from treadle._evals.stats import Share, wilson
from treadle._evals.why.asking import AskedOnce, Purse
from treadle._evals.why.changes import Change, agent_with, events_of
from treadle._evals.why.effects import ExperimentGate, disarmed, takes_part
from treadle._evals.why.judges import Judge
from treadle._flows.agent import Agent
from treadle._flows.replay import fork_at_record, renderings
from treadle._journal.base import Journal
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import BudgetExhaustedError, ConfigError, RunNotFoundError
from treadle._types.events import (
    Forked,
    Noted,
    Record,
    RunFinished,
    RunStarted,
    StepStarted,
    ThinkStarted,
    ToolDone,
    ToolStarted,
)  # fmt: skip
from treadle._types.request import Reply, Request
from treadle._types.state import fold

NOTE = "experiment"
"""The component of the record that says what an experiment has changed."""


class Experiment(Struct, frozen=True, omit_defaults=True):
    """A change at a step, and what came of it."""

    change: Change
    step: int
    """The first step that was done again; 0: everything after the question."""
    runs: tuple[str, ...]
    right: int
    trials: int
    answer: str = ""
    """Of the first trial that was right, else of the first."""
    why: str = ""
    """Why the judge calls the first trial wrong."""
    unknown: tuple[str, ...] = ()
    """Tools that were called with an outcome nobody knows."""
    ran: tuple[str, ...] = ()
    """Tools that were run: only ones that are `pure`."""
    seconds: float = 0.0

    @property
    def helps(self) -> bool:
        return self.right > 0

    @property
    def share(self) -> Share:
        return Share(self.right, self.trials, *wilson(self.right, self.trials))


class _Trial(Struct, frozen=True):
    run: str
    right: bool
    why: str
    answer: str
    unknown: tuple[str, ...]
    ran: tuple[str, ...]


class Lab:
    """Runs experiments on one recorded run."""

    def __init__(
        self,
        agent: Agent[Any, Any],
        records: Sequence[Record],
        judge: Judge,
        purse: Purse,
        *,
        journal: Journal,
        models: dict[str, Any] | None = None,
        parallel: int = 4,
        on_experiment: Callable[[Experiment], None] | None = None,
    ) -> None:
        if not records or not isinstance(records[0].event, RunStarted):
            raise ConfigError("the log does not begin with the start of a run")
        if any(isinstance(record.event, StepStarted) for record in records):
            raise ConfigError("this run is made of other runs (a plan or a document): look at one of those instead")
        self.agent, self.records, self.judge, self.purse, self.journal = agent, records, judge, purse, journal
        self.models = models or {}
        self.state = fold(records)
        self.trials = 1
        self.done: list[Experiment] = []
        self._slots = asyncio.Semaphore(parallel)
        self._known: dict[tuple[bytes, int, int], asyncio.Task[Experiment]] = {}
        self._replies: dict[bytes, asyncio.Task[Reply]] = {}
        self._on_experiment = on_experiment
        self.cuts = {0: 1} | {
            record.event.iteration: record.seq
            for record in reversed(records)
            if isinstance(record.event, ThinkStarted) and record.event.component == "loop"
        }
        """Where each step begins."""
        plugins = agent_with(Change("nothing"), agent, {}).plugins
        self.left_out = tuple(_name(plugin) for plugin in plugins if not takes_part(plugin))
        """Plug-ins that take no part in experiments, because their hooks may have effects."""

    @property
    def steps(self) -> list[int]:
        return sorted(step for step in self.cuts if step)

    def step_after(self, seq: int) -> int | None:
        """The first step whose request comes after this record."""
        return next((step for step in self.steps if self.cuts[step] > seq), None)

    async def try_all(self, changes: Sequence[tuple[Change, int]]) -> list[Experiment]:
        """Several experiments at the same time, in the order given; those that cannot be made are left out."""
        found = await asyncio.gather(*(self.try_one(*pair) for pair in changes), return_exceptions=True)
        for problem in found:
            if isinstance(problem, BaseException) and not isinstance(problem, ConfigError | BudgetExhaustedError):
                raise problem
        return [experiment for experiment in found if isinstance(experiment, Experiment)]

    async def try_one(self, change: Change, step: int) -> Experiment:
        """Raises `BudgetExhaustedError` when the search has nothing left to spend; what was begun stays resumable."""
        key = (msgspec.json.encode(change), step, self.trials)
        task = self._known.get(key)
        if task is None:
            task = self._known[key] = asyncio.create_task(self._experiment(change, step))
        return await task

    async def _experiment(self, change: Change, step: int) -> Experiment:
        if step not in self.cuts:
            raise ConfigError(f"the run has no step {step}; its steps are {', '.join(map(str, self.steps)) or 'none'}")
        begun = time.monotonic()
        async with self._slots:
            trials = [await self._trial(change, step, trial) for trial in range(self.trials)]
        shown = next((trial for trial in trials if trial.right), trials[0])
        experiment = Experiment(
            change,
            step,
            tuple(trial.run for trial in trials),
            sum(trial.right for trial in trials),
            len(trials),
            shown.answer,
            shown.why,
            tuple(dict.fromkeys(name for trial in trials for name in trial.unknown)),
            tuple(dict.fromkeys(name for trial in trials for name in trial.ran)),
            time.monotonic() - begun,
        )
        self.done.append(experiment)
        if self._on_experiment is not None:
            self._on_experiment(experiment)
        return experiment

    async def _trial(self, change: Change, step: int, trial: int) -> _Trial:
        run_id = self._id(change, step, trial)
        records = await self._stored(run_id)
        if not records or not isinstance(records[-1].event, RunFinished):
            variant = self._agent(change, trial)
            if not records:
                await self._fork(change, step, run_id, variant)
            records = await self._drive(variant, change, run_id)
        state = fold(records)
        judged = await self.judge.judge(state)
        since = next(record.seq for record in records if isinstance(record.event, Forked))
        late = [record.event for record in records if record.seq > since]
        return _Trial(
            run_id,
            judged.right,
            judged.why,
            state.finished.answer if state.finished else "",
            tuple(e.name for e in late if isinstance(e, ToolDone) and e.error == "unknown_outcome"),
            tuple(e.name for e in late if isinstance(e, ToolStarted)),
        )

    async def _stored(self, run_id: str) -> list[Record]:
        try:
            return await self.journal.load(run_id)
        except RunNotFoundError:
            return []

    def _agent(self, change: Change, trial: int) -> Agent[Any, Any]:
        variant = agent_with(change, self.agent, self.models)
        kept = [plugin for plugin in variant.plugins if takes_part(plugin)]
        variant.plugins = (*kept, ExperimentGate(self.records, change, kept))
        variant.models = tuple(AskedOnce(model, self.purse, self._replies, trial) for model in variant.models)
        variant.toolkit = Toolkit(disarmed(tool) for tool in variant.toolkit)
        variant.journal = self.journal
        return variant

    async def _fork(self, change: Change, step: int, run_id: str, variant: Agent[Any, Any]) -> None:
        cut = self.cuts[step]
        first = self.records[0]
        assert isinstance(first.event, RunStarted)
        # An experiment is no part of the user's conversation.
        apart = msgspec.structs.replace(first, event=msgspec.structs.replace(first.event, conversation=""))
        kept = [record for record in self.records if record.seq < cut]
        events = events_of(change, fold(kept), variant)
        await fork_at_record(self.journal, [apart, *self.records[1:]], cut, new_id=run_id)
        last = (await self.journal.load(run_id))[-1].seq
        note = Noted(NOTE, {"of": first.run, "step": step, "change": msgspec.to_builtins(change)})
        await self.journal.append(
            [Record(run_id, last + 1 + index, time.time(), event) for index, event in enumerate([*events, note])]
        )

    async def _drive(self, variant: Agent[Any, Any], change: Change, run_id: str) -> list[Record]:
        settings: dict[str, Any] = {"probe": False}  # nothing is found out about the model here
        if change.kind == "setting":
            settings[change.name] = change.value
        elif change.kind == "dialect":
            settings["dialect"] = change.name
        run = variant.launch(await variant.load(run_id, **settings))
        spent = asyncio.create_task(self.purse.out.wait())
        try:
            await asyncio.wait([run.task, spent], return_when=asyncio.FIRST_COMPLETED)
            if not run.done:
                raise BudgetExhaustedError(f"the search has spent its {self.purse.limit} model requests")
            with contextlib.suppress(Exception):  # presets that raise: how it ended is in its log
                await run
        finally:
            spent.cancel()
            if not run.done:
                await run.abandon()
        return list(run.records)

    def _id(self, change: Change, step: int, trial: int) -> str:
        """The same for the same experiment on the same run."""
        what = (
            self.records[0].run,
            len(self.records),
            step,
            trial,
            change,
            [model.name for model in self.agent.models],
        )
        return blake2b(msgspec.json.encode(what), digest_size=16).hexdigest()

    async def difference(self, experiment: Experiment) -> str:
        """How the first request of the experiment differs from the one that the run sent there."""
        records = await self.journal.load(experiment.runs[0])
        fork = next(r.seq for r in records if isinstance(r.event, Forked))
        cut = self.cuts[experiment.step]
        before = next(
            (r for r in renderings(self.records) if r.record.seq >= cut and r.event.component == "loop"), None
        )
        after = next((r for r in renderings(records) if r.record.seq > fork and r.event.component == "loop"), None)
        if before is None or after is None:
            return ""
        one, other = _lines(before.request), _lines(after.request)
        return "\n".join(unified_diff(one, other, "the run", "the experiment", n=1, lineterm=""))


def _lines(request: Request) -> list[str]:
    lines: list[str] = []
    for message in request.messages:
        plain: dict[str, Any] = msgspec.to_builtins(message)
        role = next(iter(plain.values()), "")
        for name, value in plain.items():
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            lines += [f"{role}.{name}: {line}" for line in text.splitlines()]
    for tool in request.tools:
        lines += [f"tool {tool.name}: {line}" for line in tool.description.splitlines()]
    return lines


def _name(plugin: object) -> str:
    return getattr(plugin, "name", "") or type(plugin).__name__
