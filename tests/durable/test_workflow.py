"""The workflow of one run, on a real Temporal server, with an activity that stands in for the worker's."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence

import pytest

from kit import go

pytestmark = [pytest.mark.slow, pytest.mark.net]
pytest.importorskip("temporalio")

from temporalio import activity  # noqa: E402
from temporalio.client import Client, WorkflowHandle  # noqa: E402
from temporalio.worker import Worker  # noqa: E402
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions  # noqa: E402

from treadle._durable.workflow import ADVANCE, RunWorkflow  # noqa: E402

Handle = WorkflowHandle[RunWorkflow, str]
Outcome = str | Exception | Callable[[], Awaitable[str]]
Calls = asyncio.Queue[str]
Body = Callable[[Handle, Calls], Awaitable[None]]


def run_workflow(target: str, outcomes: Sequence[Outcome], body: Body) -> None:
    """Start the workflow of the run `r1` with an activity that has these outcomes, one after the other."""
    calls: Calls = asyncio.Queue()
    remaining = iter(outcomes)

    @activity.defn(name=ADVANCE)
    async def advance(run_id: str) -> str:
        outcome = next(remaining)
        calls.put_nowait(run_id)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome if isinstance(outcome, str) else await outcome()

    async def main() -> None:
        client = await Client.connect(target)
        queue = uuid.uuid4().hex
        restrictions = SandboxRestrictions.default.with_passthrough_modules("treadle")
        runner = SandboxedWorkflowRunner(restrictions=restrictions)
        async with Worker(
            client, task_queue=queue, workflows=[RunWorkflow], activities=[advance], workflow_runner=runner
        ):
            await body(await client.start_workflow(RunWorkflow.run, "r1", id=uuid.uuid4().hex, task_queue=queue), calls)

    go(main(), limit=600)


def test_it_ends_with_the_run(target: str):
    async def body(handle: Handle, calls: Calls) -> None:
        assert await handle.result() == "answer"
        assert (calls.qsize(), await calls.get()) == (1, "r1")

    run_workflow(target, ["answer"], body)


def test_a_paused_run_waits_for_a_signal(target: str):
    async def body(handle: Handle, calls: Calls) -> None:
        for _ in range(2):
            await calls.get()
            await handle.signal(RunWorkflow.wake)
        assert await handle.result() == "limit"
        assert calls.qsize() == 1

    run_workflow(target, ["paused", "paused", "limit"], body)


def test_a_signal_during_the_activity_is_not_lost(target: str):
    signalled = asyncio.Event()

    async def paused() -> str:
        await signalled.wait()
        return "paused"

    async def body(handle: Handle, calls: Calls) -> None:
        await calls.get()
        await handle.signal(RunWorkflow.wake)
        signalled.set()
        assert await handle.result() == "answer"

    run_workflow(target, [paused, "answer"], body)


def test_an_activity_that_fails_is_repeated(target: str):
    async def body(handle: Handle, calls: Calls) -> None:
        assert await handle.result() == "answer"
        assert calls.qsize() == 3

    run_workflow(target, [RuntimeError("no database"), RuntimeError("no database"), "answer"], body)
