"""How long the overview, a report, a page of the list and a search take with 10 000 runs in a SQLite journal.

python benchmarks/overview.py [RUNS]
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from treadle._journal.catalog.values import RunSummary, ToolUse
from treadle._journal.sqlite import SqliteJournal
from treadle._record.report.gather import gather
from treadle._types.events import Record, RunFinished, RunStarted, ThinkStarted, ToolDone

BEGAN = 1_780_000_000.0
FOUND = "The columns are hexagonal, because the lava cooled slowly and evenly, and cracked as it shrank. " * 40


async def fill(journal: SqliteJournal, runs: int) -> None:
    for number in range(runs):
        run, at, good = f"run-{number:08}", BEGAN + number * 400, number % 9 != 0
        events = [
            RunStarted(
                f"Question {number}: what happened?", f"agent{number % 5}", f"model{number % 3}", conversation=run
            ),
            *(ThinkStarted("loop", step) for step in range(8)),
            ToolDone("c", "search", 1, f"{FOUND} needle{number % 1000}."),
            RunFinished("answer" if good else "error", "yes", success=good),
        ]
        await journal.append([Record(run, seq, at + seq, event) for seq, event in enumerate(events)])
        summary = RunSummary(good, 8, 8, 4, 1, 9000 + number, 700, 5000, 0.01, 9.0 + number % 50)
        await journal.summarise(run, summary, {"search": ToolUse(3, 1, 1.2), f"tool{number % 20}": ToolUse(1, 0, 0.1)})
        if number % 10 == 0:
            await journal.annotate(run, tags=[f"tag{number % 7}"], thumb="up" if good else "down")


async def timed(name: str, work: Callable[[], Awaitable[Any]]) -> None:
    """Of the processor, not of the clock: the machine may have other work."""
    times: list[float] = []
    for _ in range(7):
        began = time.process_time()
        await work()
        times.append(1000 * (time.process_time() - began))
    print(f"{name:42} {statistics.median(times):8.1f} ms (median of 7, slowest {max(times):.1f})")


async def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        journal = SqliteJournal(Path(folder) / "runs.db")
        await fill(journal, runs)
        middle = (await journal.list(limit=runs // 2))[-1].cursor
        await timed("overview of all", lambda: journal.overview(parent=""))
        await timed(
            "overview, one agent, a text", lambda: journal.overview(parent="", agent="agent1", text="question 1")
        )
        await timed("search: a word in ten runs", lambda: journal.list(parent="", limit=50, said="needle7."))
        await timed("search: a word that is nowhere", lambda: journal.list(parent="", limit=50, said="nowhere"))
        await timed("search: a word in every run", lambda: journal.list(parent="", limit=50, said="hexagonal"))
        await timed("a run by the beginning of its id", lambda: journal.list(prefix="run-0000123", limit=6))
        await timed("first page of 50", lambda: journal.list(parent="", limit=50))
        await timed("a page in the middle", lambda: journal.list(parent="", limit=50, after=middle))
        await timed("first page, filtered by tag and text", lambda: journal.list(limit=50, tag="tag3", text="happened"))
        infos = await journal.list(limit=runs)
        await timed("report of all, every log read", lambda: gather(journal, infos))
        await journal.aclose()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
