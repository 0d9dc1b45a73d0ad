"""Runs tasks: each one an ordinary run in the journal, judged when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from treadle._dialects.registry import choose_dialect
from treadle._engine.result import RunResult
from treadle._evals.checks import Called, judge
from treadle._evals.tasks import Task, TaskSet
from treadle._flows.agent import Agent
from treadle._journal.base import Journal
from treadle._models.base import Model
from treadle._types.errors import ConfigError
from treadle._types.usage import NO_USAGE, Usage

CASE_SECONDS = 600.0
ENDED_BADLY = ("error", "cancelled", "paused")


class Variant(Struct, frozen=True):
    """One model with one set of settings."""

    label: str
    model: Model
    settings: Mapping[str, Any] = {}
    preset: str = "default"


class Trial(Struct, frozen=True, omit_defaults=True):
    """What became of one run of one task."""

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


async def run_tasks(
    tasks: TaskSet,
    variants: Sequence[Variant],
    *,
    repeats: int = 1,
    parallel: int = 1,
    journal: Journal | None = None,
    case_seconds: float = CASE_SECONDS,
    on_trial: Callable[[Trial], None] | None = None,
) -> list[Trial]:
    """Run every task with every variant, `repeats` times. A run that fails is a task that was not solved, never an end of it all."""
    for variant in variants:
        _check(tasks, variant)
    free = asyncio.Semaphore(parallel)

    async def one(variant: Variant, task: Task, repeat: int) -> Trial:
        async with free:
            trial = await run_task(tasks, variant, task, repeat, journal=journal, case_seconds=case_seconds)
        if on_trial is not None:
            on_trial(trial)
        return trial

    # Variant by variant: a local model keeps the prompt it has read.
    work = [one(variant, task, repeat) for variant in variants for repeat in range(repeats) for task in tasks.tasks]
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(item) for item in work]
    return [done.result() for done in running]


async def run_task(
    tasks: TaskSet,
    variant: Variant,
    task: Task,
    repeat: int = 0,
    *,
    journal: Journal | None = None,
    case_seconds: float = CASE_SECONDS,
) -> Trial:
    agent = _agent(tasks, variant, task, journal)
    begun = time.monotonic()
    run = agent.start(task.question)
    assert run.task is not None
    try:
        await asyncio.wait([run.task], timeout=case_seconds)
        late = not run.done
        if late:
            run.cancel()
        result = await run
    except asyncio.CancelledError:
        run.cancel()
        with contextlib.suppress(Exception):
            await run
        raise
    except Exception as error:  # presets that raise: the outcome of this task, not of the whole evaluation
        return _trial(
            variant,
            task,
            repeat,
            run.id,
            time.monotonic() - begun,
            problems=(f"{type(error).__name__}: {error}",),
            stop_reason="error",
        )
    return _judged(
        variant, task, repeat, result, time.monotonic() - begun, f"stopped after {case_seconds:g} s" if late else ""
    )


def _agent(tasks: TaskSet, variant: Variant, task: Task, journal: Journal | None) -> Agent:
    return Agent(
        variant.model,
        tasks.make_tools(task) or None,
        preset=variant.preset,
        instructions=tasks.instructions,
        journal=journal,
        name=f"eval {tasks.name}",
        **variant.settings,
    )


def _check(tasks: TaskSet, variant: Variant) -> None:
    """Settings that cannot work are refused before anything runs."""
    try:
        agent = _agent(tasks, variant, tasks.tasks[0], None)
    except TypeError as error:
        raise ConfigError(str(error)) from None
    choose_dialect(agent.settings.dialect, agent.model.profile)


def _judged(variant: Variant, task: Task, repeat: int, result: RunResult, elapsed: float, stopped: str) -> Trial:
    calls = [Called(step.tool, step.args) for step in result.steps]
    verdict = judge(task.check, result.answer, calls)
    problems = list(verdict.problems)
    if stopped:
        problems.insert(0, stopped)
    elif result.stop_reason in ENDED_BADLY:
        problems.insert(0, f"the run ended with {result.stop_reason}: {result.error or ''}".rstrip(": "))
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


def chosen(tasks: TaskSet, *, split: str = "", kinds: Iterable[str] = (), limit: int | None = None) -> TaskSet:
    """Some of the tasks. A limit takes from every kind in turn, so that a few tasks still show all of them."""
    wanted = set(kinds)
    kept = [task for task in tasks.tasks if (not split or task.split == split) and (not wanted or task.kind in wanted)]
    if limit is not None and limit < len(kept):
        rows: dict[str, list[Task]] = {}
        for task in kept:
            rows.setdefault(task.kind, []).append(task)
        spread = sorted(
            (place, order, task.id) for order, row in enumerate(rows.values()) for place, task in enumerate(row)
        )
        ids = {task_id for *_, task_id in spread[:limit]}
        kept = [task for task in kept if task.id in ids]
    return TaskSet(tasks.name, tuple(kept), tasks.make_tools, tasks.instructions)
