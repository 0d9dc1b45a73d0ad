"""What a journal holds and bears: bytes on disk per step, and a hundred runs at once in one SQLite file.

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


def worker(steps: int, journal: SqliteJournal) -> Agent:
    """An agent whose run takes `steps` tool calls and an answer."""

    def reply(request: Request) -> Any:
        seen = sum(isinstance(message, ToolMessage) for message in request.messages)
        return {"name": "look", "args": {"n": seen}, "id": f"c{seen}"} if seen < steps else "done"

    return Agent(ScriptedModel(reply), [look], journal=journal, max_iterations=steps + 5)


def size(steps: int) -> tuple[int, int]:
    """Records and bytes of a file with one run in it, closed."""

    async def main(file: Path) -> int:
        journal = SqliteJournal(file)
        result = await worker(steps, journal).run("go", run_id="run")
        assert len(result.steps) == steps
        records = await journal.load("run")
        await journal.aclose()
        return len(records)

    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "journal.db"
        records = asyncio.run(main(file))
        assert [item.name for item in Path(name).iterdir()] == ["journal.db"]
        return records, file.stat().st_size


def together(runs: int = RUNS, steps: int = 10) -> tuple[int, int, float]:
    """How many of the runs answered, how many logs are whole, and the seconds all of it took."""

    async def main(file: Path) -> tuple[int, int, float]:
        journal = SqliteJournal(file)
        began = time.perf_counter()
        results = await asyncio.gather(*(worker(steps, journal).run("go", run_id=f"run{n}") for n in range(runs)))
        took = time.perf_counter() - began
        logs = [await journal.load(f"run{n}") for n in range(runs)]
        await journal.aclose()
        whole = sum(
            [r.seq for r in log] == list(range(len(log))) and isinstance(log[-1].event, RunFinished) for log in logs
        )
        return sum(result.answer == "done" and len(result.steps) == steps for result in results), whole, took

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
    answered, whole, took = together()
    print(
        "\n| runs at once, 10 steps each | answered | logs whole | seconds | steps per second |\n|---|---|---|---|---|"
    )
    print(f"| {RUNS} | {answered} | {whole} | {took:.1f} | {RUNS * 10 / took:.0f} |")
    linear = abs(per_step[-1] - per_step[-2]) < 0.1 * per_step[-2]
    return 0 if linear and answered == whole == RUNS else 1


if __name__ == "__main__":
    sys.exit(main())
