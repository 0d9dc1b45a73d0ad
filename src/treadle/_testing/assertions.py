"""Assertions about recorded runs: requests that extend each other and render again, the calls made, the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from treadle._agent.agent import Agent
from treadle._engine.requests.prefix import prefix_breaks
from treadle._engine.result import RunResult
from treadle._inspect.replay import renderings, replay
from treadle._journal import Journal, open_journal
from treadle._journal.export import import_run
from treadle._types.errors import ConfigError
from treadle._types.events import Record, ThinkFailed
from treadle._types.state_values import Step


class Recorded(Protocol):
    """Anything with the records of one run, such as a `Run`."""

    @property
    def records(self) -> Sequence[Record]: ...


def assert_prefix_stable(run: Recorded | Sequence[Record]) -> None:
    """Assert that each model request of a run starts with the whole request before it, byte for byte.

    A break that the log declares (compaction, changed tools, another model or dialect) is allowed. `run` is a finished
    `Run`, or records from a journal.
    """
    records = run if isinstance(run, Sequence) else run.records
    # A repeated attempt sends the same request again: one rendering stands for all attempts.
    attempted = [record for record in records if not isinstance(record.event, ThinkFailed)]
    breaks = prefix_breaks([rendering.request for rendering in renderings(attempted)], attempted)
    if breaks:
        raise AssertionError(f"{len(breaks)} undeclared prefix breaks; the first: {breaks[0].describe()}")


async def assert_replays(source: Agent[Any, Any] | Journal, run_id: str) -> None:
    """Assert that every request of a stored run renders from its log to the bytes that were sent; so for nested runs.

    No model is called and no tool runs. A failure names the record, the message and the component it came from.
    """
    journal = source.journal if isinstance(source, Agent) else source
    if journal is None:
        raise ConfigError("this agent has no journal to load the run from: Agent(..., journal='runs.db')")
    result = replay(await journal.load(run_id))
    if result.difference is not None:
        raise AssertionError(f"run {run_id} does not replay: {result.difference}")
    for child in await journal.list(parent=run_id, limit=10_000):
        await assert_replays(journal, child.run_id)


def assert_export_replays(file: str | Path) -> None:
    """Assert the same of an exported run, a file that `treadle runs export` wrote, without a journal."""

    async def check(data: bytes) -> None:
        journal = open_journal("memory:")
        await assert_replays(journal, await import_run(journal, data))

    asyncio.run(check(Path(file).read_bytes()))


def assert_called(result: RunResult[Any], tool: str, /, *, times: int | None = None, **args: Any) -> list[Step]:
    """Assert that the run called a tool, at least with these arguments (`city="Oslo"`), `times` times if that is given;
    gives the calls."""
    named = [step for step in result.steps if step.tool == tool]
    fitting = [step for step in named if args.items() <= step.args.items()] if args else named
    wanted = f"{tool}({', '.join(f'{name}={value!r}' for name, value in args.items())})"
    if not fitting:
        others = "; it was called with other arguments" if named else ""
        _fail(result, f"{wanted} was not called{others}")
    if times is not None and len(fitting) != times:
        _fail(result, f"{wanted} was called {len(fitting)} times, not {times}")
    return fitting


def assert_not_called(result: RunResult[Any], tool: str, /) -> None:
    """Assert that the run never called a tool."""
    if any(step.tool == tool for step in result.steps):
        _fail(result, f"{tool} was called")


def assert_tools(result: RunResult[Any], tools: Sequence[str], /) -> None:
    """Assert which tools were called, in which order, with every repetition."""
    called = [step.tool for step in result.steps]
    if called != list(tools):
        _fail(result, f"the calls were {called}, not {list(tools)}")


def assert_answered(result: RunResult[Any], *parts: str) -> None:
    """Assert that the run succeeded, and that its answer contains every one of `parts` (in any case)."""
    if not result.success:
        _fail(result, f"the run did not succeed: it ended with {result.stop_reason!r}")
    for part in parts:
        if part.casefold() not in result.answer.casefold():
            _fail(result, f"the answer does not contain {part!r}")


def _fail(result: RunResult[Any], problem: str) -> None:
    raise AssertionError(f"{problem}\n{result.trace()}")
