"""Runs on many machines: Temporal replaces a worker that dies, the journal says where to go on.

Messages, approvals and cancellation travel through the inbox beside the journal; a signal only wakes a workflow that
waits. Workflows and activities carry run ids, never conversations.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from treadle._engine.run import Run
from treadle._flows.agent import Agent
from treadle._journal.base import InboxItem, Journal
from treadle._types.errors import ConfigError, MissingExtraError, RunNotFoundError
from treadle._types.events import RunStarted
from treadle._types.ids import fresh_id

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
    """Hands runs to the workers and talks to them while they work."""

    def __init__(self, client: Client, journal: Journal, *, queue: str = QUEUE) -> None:
        self.client, self.journal, self.queue = client, journal, queue

    @classmethod
    async def connect(cls, target: str, journal: Journal, *, queue: str = QUEUE) -> TemporalSubmitter:
        return cls(await Client.connect(target), journal, queue=queue)

    async def submit(self, question: str, *, agent: str = "agent", run_id: str = "", user: str = "") -> str:
        """Store the question, start the workflow, return the run's id. The same `run_id` twice is one run."""
        run_id = run_id or fresh_id()
        payload: dict[str, object] = {"question": question, "agent": agent, "user": user}
        await self.journal.put(InboxItem(f"start-{run_id}", run_id, "start", payload))
        await self.client.start_workflow(RunWorkflow.run, run_id, id=_workflow_id(run_id), task_queue=self.queue)
        return run_id

    async def wait(self, run_id: str) -> str:
        """The stop reason, once the run has ended."""
        return await self.client.get_workflow_handle_for(RunWorkflow.run, _workflow_id(run_id)).result()

    async def send(self, run_id: str, text: str) -> None:
        await self._put(run_id, "message", {"text": text})

    async def approve(self, run_id: str, call_id: str, allow: bool = True, *, by: str = "", note: str = "") -> None:
        await self._put(run_id, "approve", {"call_id": call_id, "allow": allow, "by": by, "note": note})

    async def cancel(self, run_id: str) -> None:
        await self._put(run_id, "cancel", {})

    async def _put(self, run_id: str, kind: str, payload: dict[str, object]) -> None:
        await self.journal.put(InboxItem(fresh_id(), run_id, kind, payload))
        with suppress(RPCError):  # a workflow that has ended needs no waking
            await self.client.get_workflow_handle_for(RunWorkflow.run, _workflow_id(run_id)).signal(RunWorkflow.wake)


class Advancer:
    """What a worker does: drive one run until it ends or waits, telling Temporal that it is alive."""

    def __init__(self, agents: Mapping[str, Agent], journal: Journal) -> None:
        self._agents = dict(agents)
        self._journal = journal
        for agent in self._agents.values():
            agent.journal = journal

    @activity.defn(name=ADVANCE)
    async def advance(self, run_id: str) -> str:
        agent, run = await self._open(run_id)
        agent.launch(run)
        beating = asyncio.create_task(self._beat(run))
        try:
            result = await asyncio.shield(run.task)
        except asyncio.CancelledError:
            # This worker is told to let go: another goes on, so nothing may be recorded as ended here.
            await run.abandon()
            raise
        finally:
            beating.cancel()
        return result.stop_reason

    async def _open(self, run_id: str) -> tuple[Agent, Run]:
        try:
            started = (await self._journal.load(run_id))[0].event
        except RunNotFoundError:
            return await self._first(run_id)
        name = started.agent if isinstance(started, RunStarted) else "agent"
        agent = self._agent(name)
        return agent, await agent.load(run_id)

    async def _first(self, run_id: str) -> tuple[Agent, Run]:
        waiting = await self._journal.take(run_id, ["start"])
        if not waiting:
            raise RunNotFoundError(
                f"run {run_id} is not in the journal and was not submitted to it: do the workers share one journal?"
            )
        order: dict[str, Any] = dict(waiting[0].payload)
        agent = self._agent(str(order.get("agent", "agent")))
        return agent, agent.prepare(order["question"], run_id=run_id, user=str(order.get("user", "")))

    def _agent(self, name: str) -> Agent:
        if name not in self._agents:
            raise ConfigError(f"this worker has no agent {name!r}; it has: {', '.join(self._agents)}")
        return self._agents[name]

    async def _beat(self, run: Run) -> None:
        """Also looks for a cancellation: a long tool call must not keep it waiting."""
        while True:
            activity.heartbeat()
            await asyncio.sleep(HEARTBEAT.total_seconds() / 4)
            if await self._journal.take(run.id, ["cancel"]):
                run.cancel()


def temporal_worker(
    client: Client, agents: Mapping[str, Agent], journal: Journal, *, queue: str = QUEUE, at_once: int = 20
) -> Worker:
    """A worker for these agents. `await worker.run()` serves until it is told to stop."""
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
