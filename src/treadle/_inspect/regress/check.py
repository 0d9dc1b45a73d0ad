"""`make` for agents: which recorded runs does a change of the program affect, and what becomes of those?

A run is made again by the changed agent, with its log in the place of model and tools. As long as each request renders
to the bytes that were sent, the recorded reply is given and nothing is spent. A run in which that holds to its end
cannot change. From the first other byte on, the model is asked, within the budget; nothing with an effect runs.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from treadle._agent.agent import Agent
from treadle._agent.agent_tool import DELEGATE
from treadle._engine.context import RunContext
from treadle._engine.core.experiment import EXPERIMENT, experiment_mark, is_search, takes_part
from treadle._engine.plugin import Plugin
from treadle._engine.requests.render import digest_of, request_digest
from treadle._engine.run import Run
from treadle._engine.settings import Settings, no_plugins
from treadle._inspect.regress.report import Difference, End, Regressed, Report
from treadle._inspect.regress.source import Diff
from treadle._inspect.replay import renderings
from treadle._inspect.why.budgeted_model import SearchBudget
from treadle._inspect.why.changes import Change
from treadle._inspect.why.effects import ExperimentGate, StandIn, Stub, Stubs, disarmed
from treadle._inspect.why.judges import ByMarks
from treadle._inspect.why.marks import marks_in
from treadle._inspect.why.variants import name_of, plugins_of
from treadle._journal.base import Journal, RunInfo
from treadle._journal.memory import MemoryJournal
from treadle._models.base import Model
from treadle._plugins.guards.approval import Approval
from treadle._safety.bounds import Amount, Count, bounded
from treadle._tools.toolkit import Toolkit
from treadle._tools.versions import changed_versions
from treadle._types.events import ModelSwitched, Noted, Record, RunStarted, StepStarted, ThinkDone, ThinkStarted
from treadle._types.messages import AssistantMessage
from treadle._types.profile import Profile
from treadle._types.request import Finish, RawCall, Reply, Request, StreamPart
from treadle._types.state import CONVERSATION, RunState, fold

Agents = Agent[Any, Any] | Callable[[Sequence[Record]], Agent[Any, Any]]
_ABOUT = 60
"""Characters shown of both requests where they part."""


@bounded
async def regress(
    agent: Agents,
    runs: Iterable[str],
    *,
    journal: Journal,
    requests: Amount = 0,
    parallel: Count = 4,
    stubs: Mapping[str, Stub] | None = None,
    stand_ins: Iterable[StandIn] = (),
    again: Iterable[str] = (),
    since: str = "",
    folder: str | Path = ".",
    on_run: Callable[[Regressed], None] | None = None,
) -> Report:
    """Say of each recorded run whether the changed `agent` can do anything else, and what it does then.

    `agent` is the agent as it is now, or a function that makes it for the records of a run. With `requests`, affected
    runs go on by asking its model, at most so often in all.

    A tool that has changed, that `again` names, or that git says a change in `folder` `since` a revision touches is
    called again if it is `pure`.
    """
    budget, slots = SearchBudget(requests), asyncio.Semaphore(parallel)
    others = [*([Stubs(stubs)] if stubs else []), *stand_ins]
    diff = Diff.since(since, Path(folder)) if since else None
    options = _Options(journal, budget, others, frozenset(again), diff, frozenset(stubs or ()))

    async def one(run_id: str) -> Regressed:
        async with slots:
            result = await _regressed(agent, run_id, options)
        if on_run is not None:
            on_run(result)
        return result

    done = await asyncio.gather(*map(one, dict.fromkeys(runs)))
    return Report(tuple(done), budget.requests, budget.usage.total_tokens, budget.usage.cost)


def can_be_compared(info: RunInfo) -> bool:
    """Return whether a run is one to compare with: finished, a user's, and neither a search nor an experiment."""
    return info.status == "finished" and not info.parent and not is_search(info.run_id)


class _Options:
    def __init__(
        self, journal: Journal, budget: SearchBudget, stand_ins: Sequence[StandIn], again: frozenset[str],
        diff: Diff | None, stubbed: frozenset[str],
    ) -> None:  # fmt: skip
        self.journal, self.budget, self.stand_ins, self.stubbed = journal, budget, stand_ins, stubbed
        self._again, self._diff = again, diff

    def changed(self, agent: Agent[Any, Any], state: RunState) -> frozenset[str]:
        """The tools whose results the log does not know any more."""
        new = changed_versions(state.versions, agent.toolkit)
        diff = self._diff
        return self._again.union(new, (tool.name for tool in agent.toolkit if diff is not None and diff.touches(tool)))


async def _regressed(agents: Agents, run_id: str, options: _Options) -> Regressed:
    try:
        records = await options.journal.load(run_id)
        state = fold(records)
        if reason := _cannot(records, state):
            return Regressed(run_id, state.question, "skipped", why=reason)
        agent = agents(records) if callable(agents) else agents
        marks = marks_in((await options.journal.info(run_id)).note)
        result = await _Repetition(agent, records, state, options).compared(ByMarks(marks) if marks else None)
        return await _with_inside(result, agent, state, options) if result.verdict in _ALIKE else result
    except Exception as error:  # one run that cannot be compared says nothing about the others
        return Regressed(run_id, "", "skipped", why=f"{type(error).__name__}: {error}")


_ALIKE = ("unaffected", "same")


async def _with_inside(result: Regressed, agent: Agent[Any, Any], state: RunState, options: _Options) -> Regressed:
    """The runs of the agents that it asked: what they said is in its log, and they may say something else now."""
    tools = {step.call_id: step.tool for step in state.steps}
    for child in await options.journal.list(parent=result.run, limit=_INSIDE):
        tool = tools.get(child.run_id.removeprefix(f"{result.run}."))
        if tool is None:  # a search for its causes, or an experiment
            continue
        delegate = getattr(getattr(agent.toolkit.get(tool), "execute", None), DELEGATE, None)
        if not isinstance(delegate, Agent):
            return msgspec.structs.replace(result, verdict="unclear", why=f"the run inside {tool} cannot be compared")
        inner = await _regressed(cast("Agent[Any, Any]", delegate), child.run_id, options)
        if inner.verdict != "unaffected":
            why = f"the run inside {tool} is {inner.verdict}: {inner.why}".rstrip(": ")
            return msgspec.structs.replace(result, verdict="affected", why=why, difference=inner.difference)
    return result


_INSIDE = 10_000


def _cannot(records: Sequence[Record], state: RunState) -> str:
    if state.finished is None or not isinstance(records[0].event, RunStarted):
        return "it is not finished"
    if experiment_mark(records) is not None:
        return "it is an experiment"
    if any(isinstance(record.event, StepStarted) for record in records):
        return "it is made of other runs: compare those"
    return ""


class _Marked(Plugin):
    """Makes a run an experiment before anything else happens in it: the engine then runs nothing with an effect."""

    name = "regress"
    harmless = True

    def __init__(self, of: str) -> None:
        self.of = of

    async def on_start(self, run: RunContext) -> None:
        await run.emit(Noted(EXPERIMENT, {"of": self.of, "step": 0, "change": {"kind": "nothing"}}))


class _Repetition:
    """A recorded run, made again by the changed agent."""

    def __init__(self, agent: Agent[Any, Any], records: Sequence[Record], state: RunState, options: _Options) -> None:
        self.agent, self.records, self.state, self.options = agent, records, state, options
        self.recorded = Recorded(records)
        self.difference: Difference | None = None
        self.stopped = False
        """There was nothing left to spend."""
        self.asked = 0
        self._run: Run[Any] | None = None
        changed = options.changed(agent, state)
        pure = {tool.name for tool in agent.toolkit if tool.effect == "pure"}
        self.unknown = changed - pure - options.stubbed
        """Tools whose code has changed, and which may not run."""
        answering = [record for record in records if getattr(record.event, "name", "") not in changed - self.unknown]
        change, limit = Change("nothing"), agent.settings.max_observation_chars
        if limit != self.recorded.settings.get("max_observation_chars", Settings().max_observation_chars):
            change = Change("setting", "max_observation_chars", value=limit)
        self.gate = ExperimentGate(answering, change, plugins_of(agent, agent.settings), options.stand_ins)

    async def compared(self, judge: ByMarks | None) -> Regressed:
        started = self.state.started
        assert started is not None
        run = self._variant().prepare(started.question, history=started.history, user=started.user)
        self._run = run
        await asyncio.wait([self._launched(run).task])
        now = run.state
        result = Regressed(
            self.records[0].run,
            self.state.question,
            "unaffected",
            requests=self.recorded.requests,
            reused=self.recorded.used,
            asked=self.asked,
            difference=self.difference,
            before=End.of(self.state),
            after=End.of(now),
            unknown=tuple(dict.fromkeys(self.gate.unknown)),
            left_out=self._left_out(),
        )
        if self.stopped:
            return msgspec.structs.replace(result, verdict="affected", after=None)
        if acted := sorted({step.tool for step in (*self.state.steps, *now.steps)} & self.unknown):
            why = f"the code of {', '.join(acted)} has changed, and it may not run"
            return msgspec.structs.replace(result, verdict="unclear", why=why)
        same = End.of(self.state).same_as(End.of(now))
        if self.difference is None and same and self.recorded.used == self.recorded.requests:
            if not result.left_out:
                return result
            # Every request is the same, and yet a hook that took no part may do something else now.
            return msgspec.structs.replace(result, verdict="same", why=f"without {', '.join(result.left_out)}")
        if self.difference is None:
            result = msgspec.structs.replace(result, why=f"it ends after {self.recorded.used} of its requests")
        if judge is None:
            verdict = "unclear" if result.unknown else "same" if same else "changed"
            return msgspec.structs.replace(result, verdict=verdict)
        before, after = await judge.judge(self.state), await judge.judge(now)
        verdict = "worse" if before.right and not after.right else "better" if after.right > before.right else "same"
        if result.unknown and not after.right:
            verdict = "unclear"
        return msgspec.structs.replace(result, verdict=verdict, why=after.why or result.why)

    def _left_out(self) -> tuple[str, ...]:
        """Plug-ins that take no part. Who is asked for approval decides nothing about calls that the log answers, as
        long as the same calls are asked about."""
        asked = list(self.recorded.settings.get("ask", ())) != list(self.agent.settings.ask)
        plugins = plugins_of(self.agent, self.agent.settings)
        others = [one for one in plugins if not takes_part(one) and (asked or type(one) is not Approval)]
        return tuple(map(name_of, others))

    def _launched(self, run: Run[Any]) -> Run[Any]:
        launched = self.agent.launch(run)
        # How it ends is in its log: nobody else waits for it.
        launched.task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return launched

    def _variant(self) -> Agent[Any, Any]:
        variant = copy.copy(self.agent)
        settings = self.agent.settings.with_changes({"probe": False})
        plugins = [plugin for plugin in plugins_of(self.agent, settings) if takes_part(plugin)]
        variant.settings = settings
        variant.preset = msgspec.structs.replace(self.agent.preset, plugins=no_plugins)
        variant.plugins = (_Marked(self.records[0].run), *plugins, self.gate)
        variant.models = tuple(RecordedModel(model, self.recorded, self._ask) for model in self.agent.models)
        variant.toolkit = Toolkit(disarmed(tool) for tool in self.agent.toolkit)
        variant.journal = MemoryJournal()
        return variant

    async def _ask(self, model: Model, request: Request) -> AsyncIterator[StreamPart]:
        """A request that the run did not make: its first one says where the runs part."""
        if self.difference is None:
            self.difference = parting(self.records, self.recorded.used, request)
        budget = self.options.budget
        if budget.empty:
            self.stopped = True
            if self._run is not None:
                self._run.cancel()
            await asyncio.get_running_loop().create_future()
        budget.take()
        self.asked += 1
        async for part in model.stream(request):
            if isinstance(part, Reply):
                budget.add(part.usage)
            yield part


def parting(records: Sequence[Record], used: int, request: Request) -> Difference:
    """Where a request is not the recorded one: its first other byte, and which part of it that is in."""
    for number, rendering in enumerate(renderings(records)):
        if number == used:
            old, new = rendering.request, request
            for index in range(max(len(old.messages), len(new.messages))):
                pair = [msgspec.json.encode(one.messages[index]).decode() if index < len(one.messages) else ""
                        for one in (old, new)]  # fmt: skip
                if pair[0] != pair[1]:
                    return _difference(rendering.record.seq, used + 1, f"message {index}", *pair)
            if old.tools != new.tools:
                pair = [msgspec.json.encode(one.tools).decode() for one in (old, new)]
                return _difference(rendering.record.seq, used + 1, "the tools", *pair)
            names = ("tool_choice", "format", "temperature", "max_tokens", "stop", "seed")
            name = next((name for name in names if getattr(old, name) != getattr(new, name)), "model")
            pair = [str(getattr(one, name, "")) for one in (old, new)]
            return _difference(rendering.record.seq, used + 1, name, *pair)
    return Difference(-1, used + 1, "a request more than the run has")


def _difference(seq: int, number: int, where: str, before: str, after: str) -> Difference:
    both = min(len(before), len(after))
    at = next((index for index in range(both) if before[index] != after[index]), both)
    begin = max(0, at - 20)
    byte = len(before[:at].encode("utf-8", "replace"))
    return Difference(seq, number, where, byte, before[begin : at + _ABOUT], after[begin : at + _ABOUT])


_SAMPLING = ("temperature", "max_tokens", "seed")
"""What an adviser's request is sent with, beside what its digest is of."""


class Recorded:
    """The replies of a run by what they answered: the model, the component and the digest of the request."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._replies: dict[tuple[str, str, str], list[ThinkDone]] = {}
        self.requests = 0
        """How many requests got a reply."""
        self.used = 0
        """How many of them were made again, with the same bytes."""
        self.settings: dict[str, Any] = {}
        model, asked = "", dict[str, str]()
        for record in records:
            event = record.event
            if isinstance(event, RunStarted):
                model, self.settings = event.model, event.settings
            elif isinstance(event, ModelSwitched):
                model = event.model
            elif isinstance(event, ThinkStarted):
                asked[event.component] = event.digest
            elif isinstance(event, ThinkDone):
                self.requests += 1
                digest = event.digest or asked.get(event.component, "")
                self._replies.setdefault((model, event.component, digest), []).append(event)

    def take(self, model: str, request: Request) -> Reply | None:
        """The reply to a request of these bytes; each is given once, in the order of the run."""
        if request.component in CONVERSATION:
            digest = request_digest(request)
        elif any(self.settings.get(name) != getattr(request, name) for name in _SAMPLING if name in self.settings):
            return None
        else:
            digest = digest_of(request.messages, request.tools, request.format)
        waiting = self._replies.get((model, request.component, digest))
        if not waiting:
            return None
        self.used += 1
        return _reply(waiting.pop(0))


def _reply(done: ThinkDone) -> Reply:
    message: AssistantMessage = done.message
    native = message.dialect == "native" or done.component not in CONVERSATION
    calls = [call for call in message.calls if native and not call.from_text]
    raw = tuple(RawCall(call.id, call.name, call.raw or msgspec.json.encode(call.args).decode()) for call in calls)
    return Reply(
        text=message.text, calls=raw, reasoning=message.reasoning, finish=cast("Finish", done.finish), usage=done.usage,
        opaque=message.opaque, options=done.options,
    )  # fmt: skip


class RecordedModel:
    """A model of the changed agent, in front of which the log of a run answers."""

    def __init__(
        self, model: Model, recorded: Recorded, ask: Callable[[Model, Request], AsyncIterator[StreamPart]]
    ) -> None:
        self._model, self._recorded, self._ask = model, recorded, ask

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def profile(self) -> Profile:
        return self._model.profile

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        if (reply := self._recorded.take(self.name, request)) is not None:
            yield reply
            return
        async for part in self._ask(self._model, request):
            yield part

    async def aclose(self) -> None:
        """The model is the agent's: it stays open."""
