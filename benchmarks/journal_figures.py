"""The size and the throughput of a SQLite journal: bytes on disk per step, and a hundred runs at once in one file.

python benchmarks/journal_figures.py         # two markdown tables
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from treadle import Agent, ScriptedModel, tool
from treadle._journal.sqlite import SqliteJournal
from treadle._types.events import RunFinished
from treadle._types.messages import ToolMessage
from treadle._types.request import Request

STEPS = (10, 100, 1000)
RUNS = 100


@tool(effect="pure")
async def look(n: int) -> str:
    """Look something up."""
    return f"{n}: " + "x" * 200


def agent_for(steps: int, journal: SqliteJournal) -> Agent:
    """An agent whose run takes `steps` tool calls and an answer."""

    def reply(request: Request) -> Any:
        results = sum(isinstance(message, ToolMessage) for message in request.messages)
        return {"name": "look", "args": {"n": results}, "id": f"c{results}"} if results < steps else "done"

    return Agent(ScriptedModel(reply), [look], journal=journal, max_iterations=steps + 5)


def size(steps: int) -> tuple[int, int]:
    """The records and bytes of a closed file with one run."""

    async def main(file: Path) -> int:
        journal = SqliteJournal(file)
        result = await agent_for(steps, journal).run("go", run_id="run")
        assert len(result.steps) == steps
        records = await journal.load("run")
        await journal.aclose()
        return len(records)

    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "journal.db"
        records = asyncio.run(main(file))
        assert [item.name for item in Path(name).iterdir()] == ["journal.db"]
        return records, file.stat().st_size


def run_at_once(runs: int = RUNS, steps: int = 10) -> tuple[int, int, float]:
    """How many of the runs answered, how many logs are complete, and the seconds all of it took."""

    async def main(file: Path) -> tuple[int, int, float]:
        journal = SqliteJournal(file)
        began = time.perf_counter()
        results = await asyncio.gather(*(agent_for(steps, journal).run("go", run_id=f"run{n}") for n in range(runs)))
        took = time.perf_counter() - began
        logs = [await journal.load(f"run{n}") for n in range(runs)]
        await journal.aclose()
        complete = sum(
            [r.seq for r in log] == list(range(len(log))) and isinstance(log[-1].event, RunFinished) for log in logs
        )
        return sum(result.answer == "done" and len(result.steps) == steps for result in results), complete, took

    with tempfile.TemporaryDirectory() as name:
        return asyncio.run(main(Path(name) / "journal.db"))


def main() -> int:
    print("| steps | records | bytes on disk | bytes per step beyond an empty run |\n|---|---|---|---|")
    _, empty = size(0)
    per_step: list[float] = []
    for steps in STEPS:
        records, total = size(steps)
        per_step.append((total - empty) / steps)
        print(f"| {steps} | {records} | {total} | {per_step[-1]:.0f} |", flush=True)
    answered, complete, took = run_at_once()
    print("\n| runs at once, 10 steps each | answered | logs complete | seconds | steps per second |")
    print("|---|---|---|---|---|")
    print(f"| {RUNS} | {answered} | {complete} | {took:.1f} | {RUNS * 10 / took:.0f} |")
    linear = abs(per_step[-1] - per_step[-2]) < 0.1 * per_step[-2]
    return 0 if linear and answered == complete == RUNS else 1


if __name__ == "__main__":
    sys.exit(main())
