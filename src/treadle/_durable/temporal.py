"""Runs on many machines: Temporal replaces a worker that dies, and the next worker resumes the run from the journal.

Messages, approvals and cancellations go through the inbox of the journal; a signal only wakes a workflow that waits.
Workflows and activities carry run ids, never conversations.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from treadle._agent.agent import Agent
from treadle._agent.waiting import decided, leave_decisions, leave_results
from treadle._engine.run import Run
from treadle._journal.base import InboxItem, Journal
from treadle._safety.bounds import Count, bounded
from treadle._types.errors import ConfigError, MissingExtraError, RunNotFoundError
from treadle._types.events import RunStarted
from treadle._types.ids import fresh_id
from treadle._types.state import fold

try:
    from temporalio import activity
    from temporalio.client import Client
    from temporalio.service import RPCError
    from temporalio.worker import Worker
    from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

    from treadle._durable.workflow import ADVANCE, HEARTBEAT, RunWorkflow
except ImportError as error:
    raise MissingExtraError("running on Temporal", "temporal") from error

QUEUE = "treadle"


class TemporalSubmitter:
    """Submits runs to the workers, and sends messages, approvals and cancellations to them."""

    def __init__(self, client: Client, journal: Journal, *, queue: str = QUEUE) -> None:
        self.client, self.journal, self.queue = client, journal, queue

    @classmethod
    async def connect(cls, target: str, journal: Journal, *, queue: str = QUEUE) -> TemporalSubmitter:
        return cls(await Client.connect(target), journal, queue=queue)

    async def submit(self, question: str, *, agent: str = "agent", run_id: str = "", user: str = "") -> str:
        """Store the question, start the workflow, and return the run's id. The same `run_id` twice is one run."""
        run_id = run_id or fresh_id()
        payload: dict[str, object] = {"question": question, "agent": agent, "user": user}
        await self.journal.put(InboxItem(f"start-{run_id}", run_id, "start", payload))
        await self.client.start_workflow(RunWorkflow.run, run_id, id=_workflow_id(run_id), task_queue=self.queue)
        return run_id

    async def wait(self, run_id: str) -> str:
        """Wait until the run has ended, and return its stop reason."""
        return await self.client.get_workflow_handle_for(RunWorkflow.run, _workflow_id(run_id)).result()

    async def send(self, run_id: str, text: str) -> None:
        await self._put(run_id, "message", {"text": text})

    async def approve(
        self,
        run_id: str,
        call_id: str,
        allow: bool = True,
        *,
        args: dict[str, Any] | None = None,
        always: bool = False,
        by: str = "",
        note: str = "",
    ) -> None:
        """Decide about a call that waits, or with "all" about every one. `args` take the place of the model's and are
        validated here; `always` allows every later call of the tool in this run."""
        answer = {"allow": allow, "args": args, "always": always, "by": by, "note": note}
        state = fold(await self.journal.load(run_id))
        await leave_decisions(self.journal, run_id, await decided(self.journal, run_id, state, {call_id: answer}))
        await self.wake(run_id)

    async def answer(self, run_id: str, call_id: str, result: Any, *, by: str = "") -> None:
        """Give the result of a call of an external tool: text, any JSON value, content parts, or an exception."""
        await leave_results(self.journal, run_id, fold(await self.journal.load(run_id)), {call_id: result}, by=by)
        await self.wake(run_id)

    async def cancel(self, run_id: str) -> None:
        await self._put(run_id, "cancel", {})

    async def resume(self, run_id: str) -> None:
        """Continue a run that is parked: each of these is one more attempt."""
        await self.wake(run_id)

    async def _put(self, run_id: str, kind: str, payload: dict[str, object]) -> None:
        await self.journal.put(InboxItem(fresh_id(), run_id, kind, payload))
        await self.wake(run_id)

    async def wake(self, run_id: str) -> None:
        """Tell a paused run that there is something in its inbox."""
        with suppress(RPCError):  # the workflow may have ended
            await self.client.get_workflow_handle_for(RunWorkflow.run, _workflow_id(run_id)).signal(RunWorkflow.wake)


class Advancer:
    """The activity of a worker: drives one run until it ends or pauses, and sends heartbeats to Temporal."""

    def __init__(self, agents: Mapping[str, Agent[Any, Any]], journal: Journal) -> None:
        self._agents = dict(agents)
        self._journal = journal
        for agent in self._agents.values():
            agent.journal = journal

    @activity.defn(name=ADVANCE)
    async def advance(self, run_id: str) -> str:
        agent, run = await self._open(run_id)
        agent.launch(run)
        heartbeat = asyncio.create_task(self._heartbeat(run))
        try:
            result = await asyncio.shield(run.task)
        except asyncio.CancelledError:
            # Another worker resumes the run: this one must not record an end.
            await run.abandon()
            raise
        finally:
            heartbeat.cancel()
        return result.stop_reason

    async def _open(self, run_id: str) -> tuple[Agent, Run]:
        try:
            started = (await self._journal.load(run_id))[0].event
        except RunNotFoundError:
            return await self._start(run_id)
        name = started.agent if isinstance(started, RunStarted) else "agent"
        agent = self._agent(name)
        return agent, await agent.load(run_id, unattended=True)

    async def _start(self, run_id: str) -> tuple[Agent, Run]:
        # A worker that died before the run's first record has taken the item: a claim puts back what nobody recorded.
        owner = fresh_id()
        await self._journal.claim(run_id, owner)
        try:
            items = await self._journal.take(run_id, ["start"])
        finally:
            await self._journal.release(run_id, owner)
        if not items:
            raise RunNotFoundError(
                f"run {run_id} is neither in the journal nor in its inbox: "
                "give all workers and submitters the same journal"
            )
        payload: dict[str, Any] = dict(items[0].payload)
        agent = self._agent(str(payload.get("agent", "agent")))
        return agent, agent.prepare(payload["question"], run_id=run_id, user=str(payload.get("user", "")))

    def _agent(self, name: str) -> Agent:
        if name not in self._agents:
            raise ConfigError(f"this worker has no agent {name!r}; it has: {', '.join(self._agents)}")
        return self._agents[name]

    async def _heartbeat(self, run: Run) -> None:
        """Send heartbeats, and check the inbox for a cancellation so that it takes effect during a long tool call."""
        while True:
            activity.heartbeat()
            await asyncio.sleep(HEARTBEAT.total_seconds() / 4)
            if await self._journal.take(run.id, ["cancel"]):
                run.cancel()


@bounded
def temporal_worker(
    client: Client, agents: Mapping[str, Agent[Any, Any]], journal: Journal, *, queue: str = QUEUE, at_once: Count = 20
) -> Worker:
    """A worker for these agents. `await worker.run()` serves until `worker.shutdown()`."""
    runner = SandboxedWorkflowRunner(restrictions=SandboxRestrictions.default.with_passthrough_modules("treadle"))
    advancer = Advancer(agents, journal)
    return Worker(
        client,
        task_queue=queue,
        workflows=[RunWorkflow],
        activities=[advancer.advance],
        max_concurrent_activities=at_once,
        workflow_runner=runner,
    )


def _workflow_id(run_id: str) -> str:
    return f"treadle-{run_id}"
