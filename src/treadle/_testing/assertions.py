"""Assertions about recorded runs: requests that extend each other, requests that render again to the same bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from treadle._agent.agent import Agent
from treadle._engine.requests.prefix import prefix_breaks
from treadle._inspect.replay import renderings, replay
from treadle._journal import Journal, open_journal
from treadle._journal.export import import_run
from treadle._types.errors import ConfigError
from treadle._types.events import Record, ThinkFailed


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
