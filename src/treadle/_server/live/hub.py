"""The runs of this server: started, resumed, sent messages, stopped. A run does not depend on a client following it."""

from __future__ import annotations

import asyncio
import copy
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from treadle._agent.agent import Agent
from treadle._agent.presets import local_user
from treadle._agent.waiting import decided, leave_decisions, leave_results
from treadle._engine.core.decisions import Answer
from treadle._engine.core.inbox import message_payload
from treadle._engine.core.masks import Masks, masks_of
from treadle._engine.run import Run
from treadle._flows.tool_trial import ToolTrial
from treadle._inspect.replay import fork_at_record
from treadle._journal.base import InboxItem, Journal
from treadle._journal.keys import is_marked, server_mark
from treadle._safety.logs import get_logger
from treadle._server.errors import ApiError, conflict, not_found
from treadle._server.limits import ConcurrencyLimit
from treadle._server.live.branches import ForkPlan, OwnedRun, RunFacts, facts_of, kept_records
from treadle._server.live.channel import Channel
from treadle._server.live.follower import Follower
from treadle._server.live.positions import Position
from treadle._server.live.projection import Detail
from treadle._server.live.variants import Variants
from treadle._server.metrics import Metrics
from treadle._server.settings import ServerSettings
from treadle._types.errors import JournalError, RunBusyError, RunNotFoundError, TreadleError
from treadle._types.events import Record, ReplyConstrained, Resumed
from treadle._types.ids import fresh_id
from treadle._types.messages import Content
from treadle._types.state import fold
from treadle._workspace.places import collect

logger = get_logger("treadle.server")

_START_LOOKS, _START_PAUSE = 100, 0.05
_MAX_FACTS = 10_000
"""How many runs the immutable facts are cached of."""


class Hub:
    def __init__(
        self, agents: Mapping[str, Agent], journal: Journal, settings: ServerSettings, metrics: Metrics
    ) -> None:
        self.journal = journal
        self.settings = settings
        self.metrics = metrics
        self.agents = {name: _with_journal(agent, name, journal) for name, agent in agents.items()}
        self.trials = {trial.name: trial for trial in map(ToolTrial, self.agents.values())}
        """The same agents, for calls of their tools by hand."""
        self.variants = Variants(settings)
        """The same agents with other models and presets."""
        self.runs: dict[str, Run] = {}
        self._starting: dict[str, asyncio.Future[None]] = {}
        """Of these it is not known yet whether this server may drive them."""
        self.run_limit = ConcurrencyLimit("runs", settings.max_runs, settings.max_runs_per_user)
        self.closing = False
        self._channels: dict[str, Channel] = {}
        self._facts: OrderedDict[str, RunFacts] = OrderedDict()
        self._loading = asyncio.Lock()
        self._background: set[asyncio.Task[None]] = set()
        self.searches = Searches()
        self.on_ended: list[Callable[[OwnedRun], None]] = []
        """Called when a run is not driven here any more: it has ended, or waits."""
        self._warned: set[str] = set()
        """Unfinished runs that cannot be resumed here, and of which the log has been told."""

    # ---- reading

    async def records(self, run_id: OwnedRun) -> Sequence[Record]:
        channel = self._channels.get(run_id)
        if channel is not None and channel.live and channel.records and channel.stored:
            return channel.records[: channel.stored]
        return await self.journal.load(run_id)

    async def facts(self, run_id: OwnedRun) -> RunFacts:
        """`RunNotFoundError` if there is no such run."""
        if run_id not in self._facts:
            self._facts[run_id] = facts_of(await self.records(run_id))
            if len(self._facts) > _MAX_FACTS:
                self._facts.popitem(last=False)
        return self._facts[run_id]

    def channel(self, run_id: OwnedRun) -> Channel:
        channel = self._channels.setdefault(run_id, Channel(run_id))
        channel.closed = self.closing
        return channel

    def follower(
        self, run_id: OwnedRun, after: Position, detail: Detail = "plain", masks: Masks | None = None
    ) -> Follower:
        return Follower(self.channel(run_id), self.journal, after, detail, masks)

    def release(self, channel: Channel) -> None:
        """Forget a channel whose run is not driven here and which no client follows."""
        if not channel.live and not channel.followers and self._channels.get(channel.run_id) is channel:
            del self._channels[channel.run_id]

    # ---- starting

    def agent(self, name: str) -> Agent:
        agent = self.agents.get(name)
        if agent is None:
            raise not_found(f"agent {name[:80]!r}", f"expected one of: {', '.join(self.agents)}")
        return agent

    async def start(self, agent: Agent, question: Content, *, key: str, **options: Any) -> Run:
        """Start a run; `options` are those of `Agent.prepare`. It is in the journal when this returns. `RunBusyError`
        if there is one with this id."""
        options["user"] = options.get("user") or local_user(agent)
        run = agent.prepare(question, **options)
        if run.id in self.runs:
            raise RunBusyError(f"run {run.id} has been started already")
        run.sign(server_mark(self.journal, run.id))
        return await self._drive(agent, run, key)

    async def begun(self, run_id: str) -> None:
        """Wait until a run that is being started, here or elsewhere, is in the journal."""
        for _ in range(_START_LOOKS):
            with suppress(RunNotFoundError):
                if await self.records(OwnedRun(run_id)):
                    return
            await asyncio.sleep(_START_PAUSE)
        raise ApiError(503, "not_started", f"run {run_id} could not be started: try again", retry_after=2.0)

    async def driven(self, run_id: OwnedRun) -> Run | None:
        """The run, if this server drives it; whether it may, is waited for."""
        while (starting := self._starting.get(run_id)) is not None:
            await asyncio.wait([starting])
        return self.runs.get(run_id)

    async def resume(self, run_id: OwnedRun, key: str = "", *, unattended: bool = False) -> Run:
        """Resume a run that is paused or was interrupted; one that is in progress already is returned as it is.

        `unattended` when no person asks for it: one that does not get any further is parked instead.
        """
        if (live := await self.driven(run_id)) is not None and live.begun:
            if live.state.paused is None:
                return live
            await asyncio.wait([live.task])  # it has recorded its pause and is about to end
        agent, facts = await self.served(run_id)
        async with self._loading:  # two at once must not both load it
            if (live := self.runs.get(run_id)) is not None:
                return live
            run = await agent.load(run_id, unattended=unattended)
            return await self._drive(agent, run, key or f"user:{facts.user}")

    async def masks_of_run(self, run_id: OwnedRun) -> Masks | None:
        """Return what restores the data that are masked in a run and in those inside it; None where nothing is
        masked."""
        try:
            agent, facts = await self.served(OwnedRun(run_id.partition(".")[0]))
        except ApiError:  # it is read only, or of an agent that is not served any more
            return None
        return masks_of(getattr(agent, "plugins", ()), facts.user, None)

    async def served(self, run_id: OwnedRun) -> tuple[Agent, RunFacts]:
        """The agent that a run belongs to, as this server has it."""
        facts = await self.facts(run_id)
        served = self.agents.get(facts.agent)
        agent = self.variants.of_run(served, facts) if served is not None else self.trials.get(facts.agent)
        if agent is None:
            raise conflict(
                f"the agent {facts.agent!r} of this run is not on this server. In a terminal: "
                f"treadle runs why {run_id} asks why, treadle runs fork goes on with it"
            )
        return agent, facts

    async def _drive(self, agent: Agent, run: Run, key: str) -> Run:
        if self.closing:
            raise ApiError(503, "shutting_down", "the server is stopping: try again in a moment", retry_after=2.0)
        self.run_limit.acquire(key)
        channel = self.channel(OwnedRun(run.id))
        first_record = asyncio.get_running_loop().create_future()
        loaded = len(run.records)

        def sink(record: Record) -> None:
            self.metrics.record(record)
            if record.run == run.id:
                channel.receive(record)
                if not first_record.done():
                    first_record.set_result(None)
            elif (child := self._channels.get(record.run)) is not None:
                child.receive(record)

        run.subscribe(sink, restored=False)  # its clients' positions are those of the stored text
        channel.records, channel.stored, channel.live, channel.failure = run.records, loaded, True, ""
        self.runs[run.id] = run
        agent.launch(run)
        self.metrics.count("treadle_runs_started_total")
        run.task.add_done_callback(lambda task: self._ended(run, channel, task, key))
        starting = self._starting[run.id] = asyncio.get_running_loop().create_future()
        try:
            await asyncio.wait([first_record, run.task], return_when=asyncio.FIRST_COMPLETED)
        finally:
            del self._starting[run.id]
            starting.set_result(None)
        if not first_record.done() and len(run.records) == loaded:
            error = run.task.exception()
            raise error if isinstance(error, TreadleError) else conflict(f"run {run.id} has nothing left to do")
        return run

    def _ended(self, run: Run, channel: Channel, task: asyncio.Task[Any], key: str) -> None:
        self.run_limit.release(key)
        if self.runs.get(run.id) is run:
            del self.runs[run.id]
        channel.live = False
        if run.state.finished is None:
            channel.records = None  # from here on the journal has it, whichever process resumes it
        error = None if task.cancelled() else task.exception()
        if isinstance(error, RunBusyError):
            pass  # another process drives it: its log goes on there
        elif run.records and run.state.finished is None and run.state.paused is None and not self.closing:
            channel.failure = "the run stopped because it could not be recorded: resume it"
            if isinstance(error, JournalError):
                logger.error("run %s stopped: %s", run.id, error, extra={"run": run.id})
        channel.wake()
        self.release(channel)
        for listener in self.on_ended:
            listener(OwnedRun(run.id))

    # ---- messages to runs, in whichever process they are driven

    async def send(self, run_id: OwnedRun, content: Content, item_id: str = "") -> str:
        """Put a message into the run's inbox, one with the same id once. A conflict when nobody will read it: the run
        has just ended."""
        ended = conflict("the run has ended before it could read this: start another one in the same conversation")
        run = self.runs.get(run_id)
        if run is not None and not run.listens:
            raise ended
        masks = await self.masks_of_run(run_id)  # what lies in the inbox lies in the journal
        content = content if masks is None else await masks.taken(content)
        item = InboxItem(item_id or fresh_id(), run_id, "message", message_payload(content))
        await self.journal.put(item)
        # A run that is not driven here is looked up: it may have ended meanwhile.
        over = not run.listens if run is not None else fold(await self.records(run_id)).finished is not None
        if over and await self.journal.recall(run_id, item.id):
            raise ended
        return item.id

    async def approve(self, run_id: OwnedRun, approve: bool | Mapping[str, Answer]) -> None:
        """Decide about calls that wait, as `Agent.resume(approve=...)` does, and have the run go on."""
        await self.served(run_id)
        decisions = await decided(self.journal, run_id, fold(await self.records(run_id)), approve)
        masks = await self.masks_of_run(run_id)
        decisions = decisions if masks is None else await masks.taken(decisions)
        await leave_decisions(self.journal, run_id, decisions)
        self._go_on(run_id)

    async def give_results(self, run_id: OwnedRun, results: Mapping[str, Any], by: str = "") -> None:
        """Take the results of calls that wait for one, as `Agent.resume(results=...)` does, and have the run go on."""
        await self.leave_results(run_id, results, by)
        self._go_on(run_id)

    async def leave_results(
        self, run_id: OwnedRun, results: Mapping[str, Any], by: str = "", constraint: ReplyConstrained | None = None
    ) -> None:
        """The same, for a caller that resumes the run itself and may constrain what follows."""
        agent, _ = await self.served(run_id)
        state, masks = fold(await self.records(run_id)), await self.masks_of_run(run_id)
        await leave_results(self.journal, run_id, state, results, agent.toolkit.get, by, masks, constraint)

    def _go_on(self, run_id: OwnedRun) -> None:
        task = asyncio.ensure_future(self._resume_once_paused(run_id))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _resume_once_paused(self, run_id: OwnedRun) -> None:
        """A decision that arrives while the run acts on another one is read when it pauses again."""
        while (run := self.runs.get(run_id)) is not None and run.begun:
            await asyncio.wait([run.task])
        try:
            if fold(await self.records(run_id)).paused is not None:
                await self.resume(run_id)
        except RunBusyError:
            return  # the process that drives it reads the decision
        except (TreadleError, ApiError) as error:
            logger.warning("run %s cannot be resumed: %s", run_id, error, extra={"run": run_id})

    async def cancel(self, run_id: OwnedRun) -> None:
        run = self.runs.get(run_id)
        if run is not None and run.state.paused is None:
            if not run.cancel():
                raise conflict("the run has just ended: there is nothing left to cancel")
            return
        agent, facts = await self.served(run_id)
        if run is not None and run.begun:
            await asyncio.wait([run.task])
        try:
            # No process drives it: it is loaded only to record its end.
            run = await agent.load(run_id)
            run.subscribe(_cancel_when_resumed(run))
            run = await self._drive(agent, run, f"user:{facts.user}")
            await asyncio.wait([run.task])
        except RunBusyError:
            await self.journal.put(InboxItem(fresh_id(), run_id, "cancel"))

    async def delete(self, run_id: OwnedRun) -> None:
        if run_id in self.runs:
            raise conflict(f"run {run_id} is in progress: cancel it first", again=None)
        await self.journal.delete(run_id)
        await collect(self.journal)
        self._facts.pop(run_id, None)
        if (channel := self._channels.pop(run_id, None)) is not None:
            channel.closed = True
            channel.wake()

    async def fork(self, run_id: OwnedRun, plan: ForkPlan, *, user: str, key: str) -> Run:
        """A new run that shares the first records of another and continues from there."""
        _, facts = await self.served(run_id)
        new_id = OwnedRun(fresh_id())
        seal = server_mark(self.journal, new_id)
        kept = kept_records(await self.records(run_id), plan, new_id=new_id, user=user or facts.user, seal=seal)
        await fork_at_record(self.journal, kept, len(kept), new_id=new_id)
        return await self.resume(new_id, key)

    # ---- start and stop of the server

    async def resume_unfinished(self) -> list[str]:
        """Resume the runs that a server of this journal started and left unfinished. Returns their ids. What somebody
        else has put into the journal is named in the log and left to a person."""
        resumed: list[str] = []
        for info in await self.journal.list(status="idle", parent="", limit=self.settings.max_runs):
            if info.agent not in self.agents:
                self._warn_once(info.run_id, "run %s is unfinished, but this server has no agent %r", info.agent)
                continue
            try:
                run_id = OwnedRun(info.run_id)  # of whoever it is: the server goes on with its own work
                if not is_marked(self.journal, run_id, (await self.facts(run_id)).mark):
                    how = f"treadle runs resume {run_id}"
                    self._warn_once(run_id, "run %s is unfinished, but no server started it: %s", how)
                    continue
                run = await self.resume(run_id, unattended=True)
                if (paused := run.state.paused) is not None and paused.parked:
                    logger.error("run %s is parked: %s", info.run_id, paused.reason, extra={"run": info.run_id})
                else:
                    resumed.append(info.run_id)
            except RunBusyError:
                continue  # another process drives it
            except (TreadleError, ApiError) as error:
                self._warn_once(info.run_id, "run %s cannot be resumed: %s", error)
        return resumed

    def _warn_once(self, run_id: str, text: str, why: object) -> None:
        """Whoever looks again and again does not say the same again and again."""
        if run_id not in self._warned:
            self._warned.add(run_id)
            logger.warning(text, run_id, why, extra={"run": run_id})

    async def take_over(self) -> None:
        """Look again and again for runs whose process is gone, and resume them; a journal that fails is tried again."""
        seconds = self.settings.takeover or 60.0
        while not self.closing:
            await asyncio.sleep(seconds)
            try:
                if resumed := await self.resume_unfinished():
                    logger.warning("took over %d runs of a process that is gone", len(resumed))
            except JournalError as error:
                logger.error("cannot look for unfinished runs: %s", error)

    async def close(self) -> None:
        """End all streams and give runs `grace` seconds to finish; the others stay unfinished in the journal."""
        self.closing = True
        await self.searches.close()
        for channel in self._channels.values():
            channel.closed = True
            channel.wake()
        tasks = [run.task for run in self.runs.values() if run.begun]
        if tasks:
            await asyncio.wait(tasks, timeout=self.settings.grace)
        for run in list(self.runs.values()):
            await run.abandon()
        await self.variants.aclose()


class Searches:
    """Searches for the causes of runs that went wrong, while they are under way; what they find is in the journal."""

    def __init__(self) -> None:
        self.running: dict[str, asyncio.Task[None]] = {}
        self.failed: dict[str, str] = {}
        """Why the last one about a run could not be made."""

    async def close(self) -> None:
        """They stop; the same search again goes on where each of them was."""
        tasks = [*self.running.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def _with_journal(agent: Agent, name: str, journal: Journal) -> Agent:
    """A copy of the agent with the name it is served by and the server's journal; the caller's agent is not changed."""
    served = copy.copy(agent)
    served.name, served.journal = name, journal
    return served


def _cancel_when_resumed(run: Run) -> Callable[[Record], None]:
    def sink(record: Record) -> None:
        if record.run == run.id and isinstance(record.event, Resumed):
            run.cancel()

    return sink
