"""Running a plan: independent steps side by side, each a run of its own in the same log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from treadle._agent.agent import Agent
from treadle._engine.core.execution import Execution
from treadle._engine.core.hooks import Pause, raise_together
from treadle._flows.dag.plan import DagStep, Plan, fingerprint, resolve
from treadle._flows.flow import ChildOutcome, run_child
from treadle._plugins.guards.compaction import condense
from treadle._safety.logs import get_logger, log_handled
from treadle._types.errors import JournalError
from treadle._types.events import StepDone, StepStarted

logger = get_logger()

_POLL = 0.05
"""How often a running plan looks for messages of the user."""


class StepRunner(Struct, frozen=True):
    """How the steps of a plan are run."""

    agent_for: Callable[[DagStep], Agent]
    max_parallel: int
    timeout: float
    dependency_tokens: int
    waiting: dict[str, Agent] = {}
    """Agents whose run waits for a person, by run: without a journal they alone have its log."""


class Executed(Struct):
    """What has become of the steps of one plan."""

    done: dict[str, StepDone]
    interrupted: bool = False


async def execute(runner: StepRunner, run: Execution, plan: Plan, number: int) -> Executed:
    """Start every step as soon as what it depends on is there. A message from the user lets running steps finish and
    starts no new ones."""
    executed = Executed({})
    waiting = {step.id: step for step in plan.steps}
    running: dict[asyncio.Task[StepDone], DagStep] = {}
    pauses: list[Pause] = []
    try:
        while waiting or running:
            if not executed.interrupted:
                await _start_ready(runner, run, waiting, running, executed, number)
            if not running:
                break
            finished, _ = await asyncio.wait(running, timeout=_POLL, return_when=asyncio.FIRST_COMPLETED)
            for task in finished:
                step = running.pop(task)
                try:
                    executed.done[step.id] = task.result()
                except Pause as pause:
                    pauses.append(pause)
            if not executed.interrupted and await run.drain():
                executed.interrupted = True
    except BaseException:  # cancelled, or a fault of our own: nothing may be left running
        for child in tuple(run.life.children):
            child.stop(run.life.stopping or "cancelled")
        if running:
            await asyncio.wait(running)
        raise
    raise_together(pauses)  # whatever could run without the person has run
    return executed


async def _start_ready(
    runner: StepRunner,
    run: Execution,
    waiting: dict[str, DagStep],
    running: dict[asyncio.Task[StepDone], DagStep],
    executed: Executed,
    number: int,
) -> None:
    for step in list(waiting.values()):
        needed = [executed.done.get(name) for name in step.dependencies]
        failed = [
            name
            for name in step.dependencies
            if (d := executed.done.get(name)) and d.status not in ("completed", "reused")
        ]
        if failed:
            del waiting[step.id]
            done = StepDone(step.id, "skipped", error=f"depends on {', '.join(failed)}", round=number)
            executed.done[step.id] = done
            await run.emit(done)
        elif all(needed) and len(running) < runner.max_parallel:
            del waiting[step.id]
            inputs = {name: executed.done[name].result for name in step.dependencies}
            running[asyncio.ensure_future(_step(runner, run, step, inputs, number))] = step


async def _step(runner: StepRunner, run: Execution, step: DagStep, inputs: dict[str, str], number: int) -> StepDone:
    """One step, always with an outcome; finished work with the same task and inputs is taken from the log."""
    task = resolve(step, inputs)
    key = fingerprint(step, task, inputs)
    if (recorded := run.state.dag.steps.get(key)) is not None and recorded.status in ("completed", "reused"):
        done = StepDone(step.id, "reused", recorded.result, round=number, key=key)
        await run.emit(done)
        return done
    child_id = f"{run.id}.{number}.{step.id}"
    await run.emit(StepStarted(step.id, child_id, task, number, key))
    clock = asyncio.get_running_loop().time
    began = clock()
    done = StepDone(step.id, "failed", round=number, key=key)
    try:
        question = await _question(run, task, inputs, runner.dependency_tokens)
        done = _with_outcome(done, await _run_child(runner, run, step, question, child_id), runner.timeout)
    except (Pause, JournalError):
        raise
    except Exception as error:  # one step must not take the others with it
        log_handled(logger, "step %s of run %s could not be run", step.id, run.id)
        done = replace(done, error=f"{type(error).__name__}: {error}")
    done = replace(done, elapsed=clock() - began)
    await run.emit(done)
    return done


async def _run_child(runner: StepRunner, run: Execution, step: DagStep, question: str, child_id: str) -> ChildOutcome:
    agent = runner.waiting.pop(child_id, None) or runner.agent_for(step)
    try:
        return await run_child(agent, run, child_id, question, runner.timeout)
    except Pause:
        runner.waiting[child_id] = agent
        raise


def _with_outcome(done: StepDone, outcome: ChildOutcome, timeout: float) -> StepDone:
    result = outcome.result
    done = replace(
        done, result=result.answer, usage=result.usage, stop_reason=result.stop_reason, work=outcome.work
    )  # fmt: skip
    if outcome.timed_out:
        return replace(done, error=f"timed out after {timeout:g} s")
    return replace(done, status="completed") if outcome.good else replace(done, error=outcome.why)


async def _question(run: Execution, task: str, inputs: dict[str, str], tokens: int) -> str:
    """The task of a step and the results it depends on, shortened where they are large."""
    if not inputs:
        return task
    results = [
        f"[{name}]\n{await condense(run.context, text, hint='step_dependency', tokens=tokens)}"
        for name, text in inputs.items()
    ]
    return f"{task}\n\nResults of the steps this one depends on:\n\n" + "\n\n".join(results)
