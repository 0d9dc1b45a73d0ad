"""The tasks through Treadle: the model in this process or behind a server, one dialect or the engine's own choice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from typing import Any

from study.rows import CASE_SECONDS, MAX_STEPS, Outcome, Round, recorded
from treadle import Agent, LocalModel, resolve_model
from treadle._inspect.evals.checks import RecordedCall
from treadle._inspect.evals.runner import stop_problem
from treadle._inspect.evals.tasks import Task, TaskSet
from treadle._journal.base import Journal
from treadle._models.base import Model
from treadle._types.events import Record, ThinkDone

DIALECTS = ("auto", "direct", "schema", "native", "json", "array", "action")
SERVED = {"server": ("--adapter",), "plain_server": ()}
"""The engine's own choice with the model behind a llama.cpp server, met by its address alone; how that is started."""
WAYS = (*DIALECTS, "plain", *SERVED)
"""`plain`: in process, without the adapter."""


def local_model(name: str, who: str) -> LocalModel:
    """The model as a user would create it. Native calls must be enabled: its profile does not list them."""
    abilities = {"tool_call": True} if who == "native" else None
    return LocalModel(name, n_ctx=4096, slots=2, abilities=abilities, adapter=who != "plain")


def served_model(address: str) -> Model:
    return resolve_model(f"{address}/v1")


async def solve_all(
    task_set: TaskSet,
    tasks: Iterable[Task],
    model: Model,
    who: str,
    *,
    journal: Journal | None = None,
    seconds: float = CASE_SECONDS,
) -> AsyncIterator[tuple[Task, Outcome]]:
    """The tasks, which are some of those of the set, one after the other."""
    if isinstance(model, LocalModel):
        await model.load()  # not part of the time of a task, as with a server that is running
    for task in tasks:
        yield task, await solve(task_set, task, model, who, journal, seconds)


async def solve(
    task_set: TaskSet, task: Task, model: Model, who: str, journal: Journal | None, seconds: float
) -> Outcome:
    calls: list[RecordedCall] = []
    rounds: list[Round] = []

    def see(record: Record) -> None:
        if isinstance(record.event, ThinkDone):
            usage = record.event.usage
            rounds.append((usage.input_tokens, usage.cached_tokens, usage.output_tokens))

    begun = time.monotonic()
    tools = [recorded(tool, calls.append) for tool in task_set.make_tools(task)]
    # No tool selection: what is measured is the loop.
    settings: dict[str, Any] = {"selection_threshold": None} | ({"dialect": who} if who in DIALECTS[1:] else {})
    agent = Agent(
        model,
        tools or None,
        instructions=task_set.instructions,
        journal=journal,
        name="study",
        max_iterations=MAX_STEPS,
        **settings,
    )
    run = agent.prepare(task.question)
    run.subscribe(see)
    agent.launch(run)
    assert run.task is not None
    await asyncio.wait([run.task], timeout=seconds)
    late = not run.done
    if late:
        run.cancel()
    result = await run
    error = f"stopped after {seconds:g} s" if late else stop_problem(result)
    return Outcome(
        result.answer,
        "timeout" if late else result.stop_reason,
        error,
        tuple(calls),
        tuple(rounds),
        time.monotonic() - begun,
        str(result.metadata.get("dialect", "")),
        run.id,
    )
