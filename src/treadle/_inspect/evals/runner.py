"""Runs tasks: each is an ordinary run in the journal, and its outcome is checked when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from treadle._agent import presets
from treadle._agent.agent import Agent
from treadle._dialects.registry import choose_dialect
from treadle._engine.result import RunResult
from treadle._inspect.evals.checks import RecordedCall, evaluate_check
from treadle._inspect.evals.tasks import Task, TaskSet
from treadle._journal.base import Journal
from treadle._models.base import Model
from treadle._safety.bounds import Count, Seconds, bounded
from treadle._types.errors import ConfigError
from treadle._types.usage import NO_USAGE, Usage

TASK_SECONDS = 600.0
FAILED_STOPS = ("error", "empty", "cancelled", "paused")
"""Stop reasons with which a task is never solved, whatever the answer is."""


class Variant(Struct, frozen=True):
    """One model with one set of settings."""

    label: str
    model: Model
    settings: Mapping[str, Any] = {}
    preset: str = "default"


class Trial(Struct, frozen=True, omit_defaults=True):
    """One run of one task, and its outcome."""

    variant: str
    task: str
    kind: str
    split: str
    repeat: int
    passed: bool
    run_id: str
    question: str
    answer: str = ""
    problems: tuple[str, ...] = ()
    scores: dict[str, float] = {}
    stop_reason: str = ""
    dialect: str = ""
    calls: tuple[str, ...] = ()
    elapsed: float = 0.0
    usage: Usage = NO_USAGE


@bounded
async def run_tasks(
    tasks: TaskSet,
    variants: Sequence[Variant],
    *,
    repeats: Count = 1,
    parallel: Count = 1,
    journal: Journal | None = None,
    task_seconds: Seconds = TASK_SECONDS,
    on_trial: Callable[[Trial], None] | None = None,
) -> list[Trial]:
    """Run every task with every variant, `repeats` times, `parallel` runs at a time.

    A run that fails counts as a task that was not solved; the evaluation continues.
    """
    for variant in variants:
        _check_settings(tasks, variant)
    slots = asyncio.Semaphore(parallel)

    async def one(variant: Variant, task: Task, repeat: int) -> Trial:
        async with slots:
            trial = await run_task(tasks, variant, task, repeat, journal=journal, task_seconds=task_seconds)
        if on_trial is not None:
            on_trial(trial)
        return trial

    # One variant after the other: a local model then keeps the prompt in its cache.
    jobs = [one(variant, task, repeat) for variant in variants for repeat in range(repeats) for task in tasks.tasks]
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(job) for job in jobs]
    return [done.result() for done in running]


async def run_task(
    tasks: TaskSet,
    variant: Variant,
    task: Task,
    repeat: int = 0,
    *,
    journal: Journal | None = None,
    task_seconds: float = TASK_SECONDS,
) -> Trial:
    agent = agent_for(tasks, variant, task, journal)
    begun = time.monotonic()
    run = agent.start(task.question)
    assert run.task is not None
    try:
        await asyncio.wait([run.task], timeout=task_seconds)
        late = not run.done
        if late:
            run.cancel()
        result = await run
    except asyncio.CancelledError:
        run.cancel()
        with contextlib.suppress(Exception):
            await run
        raise
    except Exception as error:  # presets that raise: this task has failed, the others still run
        problem = f"{type(error).__name__}: {error}"
        elapsed = time.monotonic() - begun
        return _trial(variant, task, repeat, run.id, elapsed, problems=(problem,), stop_reason="error")
    stopped = f"stopped after {task_seconds:g} s" if late else ""
    return _checked(variant, task, repeat, result, time.monotonic() - begun, stopped)


def agent_for(tasks: TaskSet, variant: Variant, task: Task, journal: Journal | None) -> Agent[Any, Any]:
    """The agent that runs a task with a variant."""
    return Agent(
        variant.model,
        tasks.make_tools(task) or None,
        preset=presets.get(variant.preset),
        instructions=tasks.instructions,
        journal=journal,
        name=f"eval {tasks.name}",
        **variant.settings,
    )


def _check_settings(tasks: TaskSet, variant: Variant) -> None:
    """Invalid settings are refused before anything runs."""
    try:
        agent = agent_for(tasks, variant, tasks.tasks[0], None)
    except TypeError as error:
        raise ConfigError(str(error)) from None
    choose_dialect(agent.settings.dialect, agent.model.profile)


def stop_problem(result: RunResult[Any]) -> str:
    """Why a run that stopped like this has not solved its task; empty when nothing is wrong with how it stopped."""
    if result.stop_reason == "paused":
        return "the run waits for approval of a call, and nobody approves calls during an evaluation"
    if result.stop_reason in FAILED_STOPS:
        return f"the run ended with {result.stop_reason}: {result.error or ''}".rstrip(": ")
    return ""


def _checked(variant: Variant, task: Task, repeat: int, result: RunResult[Any], elapsed: float, stopped: str) -> Trial:
    calls = [RecordedCall(step.tool, step.args) for step in result.steps]
    verdict = evaluate_check(task.check, result.answer, calls)
    problems = [problem for problem in (stopped or stop_problem(result), *verdict.problems) if problem]
    return _trial(
        variant,
        task,
        repeat,
        result.run_id,
        elapsed,
        answer=result.answer,
        problems=tuple(problems),
        scores=verdict.scores,
        stop_reason=result.stop_reason,
        dialect=str(result.metadata.get("dialect", "")),
        calls=tuple(call.tool for call in calls),
        usage=result.usage,
    )


def _trial(
    variant: Variant, task: Task, repeat: int, run_id: str, elapsed: float, *, problems: tuple[str, ...], **details: Any
) -> Trial:
    return Trial(
        variant.label, task.id, task.kind, task.split, repeat, not problems, run_id, task.question,
        problems=problems, elapsed=round(elapsed, 3), **details,
    )  # fmt: skip


def select_tasks(tasks: TaskSet, *, split: str = "", kinds: Iterable[str] = (), limit: int | None = None) -> TaskSet:
    """The tasks of a split and of some kinds. A limit takes from every kind in turn, so that all kinds are covered."""
    allowed = set(kinds)
    chosen = [task for task in tasks.tasks if split in ("", task.split) and (not allowed or task.kind in allowed)]
    if limit is not None and limit < len(chosen):
        by_kind: dict[str, list[Task]] = {}
        for task in chosen:
            by_kind.setdefault(task.kind, []).append(task)
        in_turn = sorted(
            (index, order, task.id) for order, group in enumerate(by_kind.values()) for index, task in enumerate(group)
        )
        ids = {task_id for *_, task_id in in_turn[:limit]}
        chosen = [task for task in chosen if task.id in ids]
    return TaskSet(tasks.name, tuple(chosen), tasks.make_tools, tasks.instructions)
