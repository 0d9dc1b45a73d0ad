"""Experiments: forks of a run at a step, each with one change, run safely and judged.

An experiment is a run of the journal like any other. Its id is made of what it is, so that a search that was stopped
finds what it has done: a finished experiment is read, one under way is resumed, nothing is done twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import unified_diff
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

from treadle._agent.agent import Agent
from treadle._engine.core.experiment import EXPERIMENT, experiment_mark, experiment_of, takes_part
from treadle._flows.flow import FlowAgent
from treadle._inspect.evals.stats import Share, wilson
from treadle._inspect.replay import fork_at_record, renderings
from treadle._inspect.why.budgeted_model import CachedModel, SearchBudget
from treadle._inspect.why.changes import Change, events_of
from treadle._inspect.why.effects import IMAGINED, ExperimentGate, StandIn, disarmed
from treadle._inspect.why.judges import Judge, Judged
from treadle._inspect.why.notebook import Notebook
from treadle._inspect.why.variants import agent_with, name_of, plugins_of, profile_with, settings_with, started_with
from treadle._journal.base import Journal
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import BudgetExhaustedError, ConfigError, RunNotFoundError
from treadle._types.events import (
    ContextCompacted,
    Forked,
    HistoryReplaced,
    MessageAdded,
    MessageRetracted,
    Noted,
    Record,
    RunFinished,
    RunStarted,
    StepStarted,
    ThinkDone,
    ThinkStarted,
    ToolDone,
    ToolStarted,
)  # fmt: skip
from treadle._types.messages import UserMessage
from treadle._types.request import Reply, Request
from treadle._types.state import RunState, fold
from treadle._types.state_values import Entry

LONG = 8
"""From so many steps on, a run is searched backwards and experiments that go on as it did are given up."""
FOLLOWED = 2
"""How many decisions of such an experiment may be those of the run."""
_CUT_OFF = ("limit", "stuck", "budget", "empty")
"""Ends of an experiment that are no better than the answer of the run."""
AS_RECORDED = "it goes on as the run did"
_WORD = re.compile(r"[^\W_]{2,}")
NEUTRAL = ("", "Thank you.", "This is a request of a user.", "Please reply.")
"""What a repetition has at the end of its system prompt when it is shaken: words that should change nothing."""


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
    shaken: bool = False
    """The trials differ in words that should change nothing: what helps only in one of them helps by luck."""
    imagined: tuple[str, ...] = ()
    """Tools whose outcome a model was asked for."""
    blame: float = 0.0
    """The share of the wrong answer's own words that the changed text has."""

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
    imagined: tuple[str, ...] = ()


class Lab:
    """Runs experiments on one recorded run."""

    def __init__(
        self,
        agent: Agent[Any, Any],
        records: Sequence[Record],
        judge: Judge,
        budget: SearchBudget,
        *,
        journal: Journal,
        models: dict[str, Any] | None = None,
        stand_ins: Sequence[StandIn] = (),
        parallel: int = 4,
        on_experiment: Callable[[Experiment], None] | None = None,
    ) -> None:
        if not records or not isinstance(records[0].event, RunStarted):
            raise ConfigError("the log does not begin with the start of a run")
        if (mark := experiment_mark(records)) is not None:
            raise ConfigError(
                f"this run is an experiment itself: look at the run it was made with, {experiment_of(mark)}"
            )
        inside = [record.event.run for record in records if isinstance(record.event, StepStarted)]
        if inside and not isinstance(agent, FlowAgent):
            raise ConfigError(
                "this run is made of other runs: give its plan or document as the agent, or look at one of those: "
                + ", ".join(dict.fromkeys(inside))
            )
        self.agent, self.records, self.judge, self.budget, self.journal = agent, records, judge, budget, journal
        self.models = models or {}
        self.stand_ins = tuple(stand_ins)
        """What answers calls that the log has no result of, in this order: the first that has one counts."""
        self.state = fold(records)
        self.entries = messages_of(records)
        """Every message that a request has had, also those that have left the window since."""
        started = self.state.started
        assert started is not None
        self.started: RunStarted = started
        asked = set(words_of(self.state.question))
        answer = self.state.finished.answer if self.state.finished else ""
        self.own_words = [word for word in words_of(answer) if word not in asked]
        """The words of the wrong answer that the question does not have."""
        written = _written(records) if self.state.workspace is not None else ""
        self._written = [word for word in words_of(written) if word not in asked]
        self.trials = 1
        self.notebook: Notebook | None = None
        self.inside = ""
        """The run that experiments are inside of when no search is under way."""
        self.from_the_start: Experiment | None = None
        """The same again from before the plug-ins have started, where that was looked at."""
        self.total = 0
        """How many experiments were planned so far, for whoever shows the progress."""
        self.done: list[Experiment] = []
        self.locating: set[str] = set()
        """Changes that put the expected value where the wrong one stands: they say where, and are no causes."""
        self._slots = asyncio.Semaphore(parallel)
        self._tasks: dict[tuple[bytes, int, int, bool], asyncio.Task[Experiment]] = {}
        self._replies: dict[bytes, asyncio.Task[Reply]] = {}
        self._on_experiment = on_experiment
        self.flow = agent if isinstance(agent, FlowAgent) else None
        self.logs: dict[str, list[Record]] = {}
        """The logs of the runs that a plan or document is made of."""
        self.cuts = _cuts(records) if self.flow is None else _cuts_of_flow(records)
        """Where each step begins."""
        self.asked_at = {seq: step for seq, step in _asked(records) if step in self.cuts}
        """The step at which the call of each result was made."""
        self._decisions = _decisions(records)
        self._answered = bool(self.state.finished) and self.state.finished.stop_reason in ("answer", "final_tool")
        self.settings = settings_with(Change("nothing"), agent, started)
        self.left_out = tuple(name_of(one) for one in plugins_of(agent, self.settings) if not takes_part(one))
        """Plug-ins that take no part in experiments, because their hooks may have effects."""

    @property
    def long(self) -> bool:
        return len(self.cuts) > LONG and self.flow is None

    @property
    def steps(self) -> list[int]:
        return sorted(step for step in self.cuts if step)

    @property
    def candidates(self) -> list[Experiment]:
        """The experiments whose change may be the cause."""
        return [experiment for experiment in self.done if repr(experiment.change) not in self.locating]

    def blame(self, text: str) -> float:
        """Return the share of the answer's own words that a text has, or of what the run wrote in its files."""
        return max(blame_of(text, self.own_words), blame_of(text, self._written))

    def step_after(self, seq: int) -> int | None:
        """Return the first step whose request comes after this record."""
        return next((step for step in self.steps if self.cuts[step] > seq), None)

    async def try_all(self, changes: Sequence[tuple[Change, int]]) -> list[Experiment]:
        """Run several experiments concurrently, in order; those that cannot be made are left out."""
        outcomes = await asyncio.gather(*(self.try_one(*pair) for pair in changes), return_exceptions=True)
        for problem in outcomes:
            if isinstance(problem, BaseException) and not isinstance(problem, ConfigError | BudgetExhaustedError):
                raise problem
        return [experiment for experiment in outcomes if isinstance(experiment, Experiment)]

    async def try_one(self, change: Change, step: int, *, trials: int = 0, shaken: bool = False) -> Experiment:
        """Run one experiment. Raises `BudgetExhaustedError` at the limit; a started experiment stays resumable."""
        trials = trials or self.trials
        key = (msgspec.json.encode(change), step, trials, shaken)
        task = self._tasks.get(key)
        if task is None:
            self.total += 1
            task = self._tasks[key] = asyncio.create_task(self._experiment(change, step, trials, shaken))
        return await task

    async def _experiment(self, change: Change, step: int, count: int, shaken: bool) -> Experiment:
        if step not in self.cuts:
            raise ConfigError(f"the run has no step {step}; its steps are {', '.join(map(str, self.steps)) or 'none'}")
        begun = time.monotonic()
        async with self._slots:
            trials = [await self._trial(change, step, trial, shaken) for trial in range(count)]
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
            shaken,
            tuple(dict.fromkeys(name for trial in trials for name in trial.imagined)),
            self.blame(change.before),
        )
        self.done.append(experiment)
        if self.notebook is not None:
            await self.notebook.note("tried", noted(experiment))
        if self._on_experiment is not None:
            self._on_experiment(experiment)
        return experiment

    async def _trial(self, change: Change, step: int, trial: int, shaken: bool) -> _Trial:
        shake = NEUTRAL[trial % len(NEUTRAL)] if shaken else ""
        run_id = self._id(change, step, trial, shake)
        records = await self._stored(run_id)
        if not records or not isinstance(records[-1].event, RunFinished):
            if self.budget.out.is_set():  # nothing is begun that could not go on
                raise BudgetExhaustedError(f"the search has spent its {self.budget.limit} model requests")
            variant = self._agent(change, 0 if shake else trial)
            if not records:
                await self._fork(change, step, run_id, variant, shake)
            records = await self._drive(variant, run_id)
        state = fold(records)
        stopped = state.finished.stop_reason if state.finished else ""
        try:
            if stopped == "cancelled":
                judged = Judged(False, AS_RECORDED)
            elif stopped in _CUT_OFF and self._answered:
                # What is put together from results where a run is cut off may have the expected value in it.
                judged = Judged(False, f"it ended with {stopped}")
            else:
                judged = await self.judge.judge(state)
        except BudgetExhaustedError:
            raise
        except Exception as error:  # a judge of the user that fails has not approved the run
            judged = Judged(False, f"the judge failed: {type(error).__name__}: {error}")
        since = next(record.seq for record in records if isinstance(record.event, Forked))
        late = [record.event for record in records if record.seq > since]
        return _Trial(
            run_id,
            judged.right,
            judged.why,
            state.finished.answer if state.finished else "",
            tuple(e.name for e in late if isinstance(e, ToolDone) and e.error == "unknown_outcome"),
            tuple(e.name for e in late if isinstance(e, ToolStarted)),
            tuple(str(e.data[IMAGINED]) for e in late if isinstance(e, Noted) and IMAGINED in e.data),
        )

    async def _stored(self, run_id: str) -> list[Record]:
        try:
            return await self.journal.load(run_id)
        except RunNotFoundError:
            return []

    def _agent(self, change: Change, trial: int) -> Agent[Any, Any]:
        settings = settings_with(change, self.agent, self.started)
        variant = agent_with(change, self.agent, settings, self.models)
        records = [*(record for log in self.logs.values() for record in log), *self.records]
        variant.plugins = (*variant.plugins, ExperimentGate(records, change, variant.plugins, self.stand_ins))
        if isinstance(variant, FlowAgent):
            same = Change("nothing")
            variant.disarm = lambda one: self._disarmed(agent_with(same, one, one.settings, {}), same, trial)
        return self._disarmed(variant, change, trial)

    def _disarmed(self, variant: Agent[Any, Any], change: Change, trial: int) -> Agent[Any, Any]:
        variant.models = tuple(
            model if isinstance(model, CachedModel)
            else CachedModel(model, self.budget, self._replies, trial, lambda profile: profile_with(change, profile))
            for model in variant.models
        )  # fmt: skip
        variant.toolkit = Toolkit(disarmed(tool) for tool in variant.toolkit)
        variant.journal = self.journal
        return variant

    async def _fork(self, change: Change, step: int, run_id: str, variant: Agent[Any, Any], shake: str) -> None:
        cut = self.cuts[step]
        first = self.records[0]
        assert isinstance(first.event, RunStarted)
        apart = msgspec.structs.replace(first, event=started_with(change, first.event))
        prefix = [apart, *(record for record in self.records[1:] if record.seq < cut)]
        state = fold(prefix)
        events = events_of(change, state, variant, prefix)
        if shake:
            for event in events:
                state.apply(Record(run_id, state.seq + 1, 0.0, event))
            assert state.started is not None
            words = f"{state.started.system}\n\n{shake}".strip()
            events.append(HistoryReplaced(len(state.conversation.window), system=words, reason="neutral words"))
        note = Noted(EXPERIMENT, {"of": first.run, "step": step, "change": msgspec.to_builtins(change)})
        parent = self.notebook.id if self.notebook is not None else self.inside
        await fork_at_record(
            self.journal, [apart, *self.records[1:]], cut, new_id=run_id, events=[*events, note], parent=parent
        )

    async def _drive(self, variant: Agent[Any, Any], run_id: str) -> list[Record]:
        changed: dict[str, Any] = {
            name: getattr(variant.settings, name) for name in variant.settings.__struct_fields__
        }  # what was recorded is among them already
        loaded = await variant.load(run_id, **changed)
        if self.long:
            loaded.subscribe(_Follower(self._decisions, loaded.cancel).see, live=False)
        run = variant.launch(loaded)
        spent = asyncio.create_task(self.budget.out.wait())
        try:
            await asyncio.wait([run.task, spent], return_when=asyncio.FIRST_COMPLETED)
            if not run.done:
                raise BudgetExhaustedError(f"the search has spent its {self.budget.limit} model requests")
            with contextlib.suppress(Exception):  # presets that raise: how it ended is in its log
                await run
        finally:
            spent.cancel()
            if not run.done:
                await run.abandon()
        return list(run.records)

    def _id(self, change: Change, step: int, trial: int, shake: str = "") -> str:
        """Derive the run id of a trial: equal for the same experiment on the same run."""
        what = (
            self.records[0].run,
            len(self.records),
            step,
            f"{trial} {shake}" if shake else trial,
            change,
            [model.name for model in self.agent.models],
            *(one.name for one in self.stand_ins),
        )
        return blake2b(msgspec.json.encode(what), digest_size=16).hexdigest()

    async def difference(self, experiment: Experiment) -> str:
        """Return the diff between the run's request at this step and the first request of the experiment."""
        records = await self.journal.load(experiment.runs[0])
        fork = next(r.seq for r in records if isinstance(r.event, Forked))
        cut = self.cuts[experiment.step]
        # Each request is read before the next one is asked for: it is rendered from the log up to there.
        asked = (r for r in renderings(self.records) if r.record.seq >= cut)
        before = next((r for r in asked if self.flow or r.event.component == "loop"), None)
        component = before.event.component if before is not None else ""
        after = next((r for r in renderings(records) if r.record.seq > fork and r.event.component == component), None)
        if before is None or after is None:
            return ""
        one, other = _lines(before.request), _lines(after.request)
        return _readable(unified_diff(one, other, n=1, lineterm=""))


def _cuts(records: Sequence[Record]) -> dict[int, int]:
    """Where each step begins. In a conversation that was recorded as one run, those since the last question count: what
    was replied before is what went wrong only if it is left out."""
    asked = [
        record.seq
        for record in records
        if isinstance(record.event, MessageAdded)
        and isinstance(record.event.message, UserMessage)
        and record.event.message.kind == "question"
    ]
    since = asked[-1] if asked else -1
    begun = {
        record.event.iteration: record.seq
        for record in reversed(records)
        if isinstance(record.event, ThinkStarted) and record.event.component == "loop" and record.seq > since
    }
    return begun if asked and begun else {0: 1} | begun


def _cuts_of_flow(records: Sequence[Record]) -> dict[int, int]:
    """Where a plan or document asks a model itself, begins a run inside, and ends."""
    own = [record.seq for record in records if isinstance(record.event, ThinkStarted | StepStarted | RunFinished)]
    return {0: own[0] if own else 1} | dict(enumerate(own, 1))  # a plan that was given stays


def _asked(records: Sequence[Record]) -> list[tuple[int, int]]:
    return [(record.seq, record.event.iteration) for record in records if isinstance(record.event, ToolDone)]


def _decisions(records: Sequence[Record]) -> dict[int, bytes]:
    replies = [record.event for record in records if isinstance(record.event, ThinkDone)]
    return {reply.iteration: decision_of(reply) for reply in replies if reply.component == "loop"}


class _Follower:
    """Gives an experiment up that makes the calls the run made, one step after the other: its change does nothing
    there, and each further step is paid for. What a change does to the last step is tried at the last step."""

    def __init__(self, recorded: Mapping[int, bytes], give_up: Callable[[], object]) -> None:
        self._recorded, self._give_up = recorded, give_up
        self._same = 0
        self._last = max(recorded, default=0)

    def see(self, record: Record) -> None:
        event = record.event
        if not isinstance(event, ThinkDone) or event.component != "loop" or self._same < 0:
            return
        # Once it has gone another way, nothing of the run says any more what will come of it.
        self._same = self._same + 1 if decision_of(event) == self._recorded.get(event.iteration) else -1
        if self._same >= FOLLOWED and event.iteration < self._last:
            self._give_up()


def decision_of(event: ThinkDone) -> bytes:
    """Return what a reply decides: which calls, or the answer."""
    calls = [(call.name, call.args) for call in event.message.calls]
    return msgspec.json.encode(calls or event.answer, order="sorted")


_PLACES = {
    ("system", "text"): "system prompt",
    ("user", "content"): "message of the user",
    ("assistant", "text"): "reply of the model",
    ("tool", "content"): "result of {name}",
}


def _lines(request: Request) -> list[str]:
    """Return each line of a request behind the name of the place where it stands."""
    lines: list[str] = []
    for message in request.messages:
        plain: dict[str, Any] = msgspec.to_builtins(message)
        role = plain.pop("role")
        for name, value in plain.items():
            place = _PLACES.get((role, name), f"{role}.{name}").format(**plain)
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            lines += [f"{place}\0{line}" for line in text.splitlines()]
    for tool in request.tools:
        lines += [f"what the tool {tool.name} says of itself\0{line}" for line in tool.description.splitlines()]
    return lines


def _readable(difference: Iterable[str]) -> str:
    """Name each place once, above its lines, and leave out those where nothing changed."""
    lines = [(*line[1:].split("\0", 1), line[0]) for line in difference if "\0" in line]
    changed = {place for place, _, sign in lines if sign != " "}
    shown: list[str] = []
    last = ""
    for place, text, sign in lines:
        if place in changed:
            shown += [f"{place}:"] * (place != last) + [sign + text]
            last = place
    return "\n".join(shown)


def _written(records: Sequence[Record]) -> str:
    """What the calls that may have changed files were given."""
    calls = [r.event.call for r in records if isinstance(r.event, ToolStarted) and r.event.effect != "pure"]
    return "\n".join(value for call in calls for value in call.args.values() if isinstance(value, str))


def words_of(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def blame_of(text: str, words: Sequence[str]) -> float:
    """Return the share of the answer's own words that a text has."""
    own = set(words_of(text))
    return sum(word in own for word in words) / len(words) if words else 0.0


def messages_of(records: Sequence[Record]) -> list[Entry]:
    """Return every message that a request had, including those that left the window later."""
    state = RunState()
    entries: dict[int, Entry] = {}
    for record in records:
        if isinstance(record.event, ContextCompacted | MessageRetracted | HistoryReplaced):
            entries |= {entry.seq: entry for entry in state.conversation.window if entry.seq not in entries}
        state.apply(record)
    entries |= {entry.seq: entry for entry in state.conversation.window if entry.seq not in entries}
    return [entries[seq] for seq in sorted(entries)]


def noted(experiment: Experiment) -> dict[str, Any]:
    """Convert an experiment for the log of the search."""
    return {
        "change": str(experiment.change),
        "kind": experiment.change.kind,
        "step": experiment.step,
        "runs": list(experiment.runs),
        "right": experiment.right,
        "trials": experiment.trials,
        "answer": experiment.answer[:500],
        "why": experiment.why[:500],
        "unknown": list(experiment.unknown),
        "imagined": list(experiment.imagined),
    }
