"""What the two executors of code mode cost: the first step of a run, which starts it, and each step after it.

    python3 tasks.py measure executors [PACKAGE ...]

Times are those between the records of a call, so what the code itself takes is in them; it takes nothing here. With
packages, their environment is made first (once for all runs that name the same), and the second step imports them.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from typing import Literal

from treadle import Agent, Plugin, ScriptedModel
from treadle._types.events import ToolDone, ToolStarted

RUNS, STEPS = 5, 10


class Nothing(Plugin):
    """Takes the place of the plug-in of that name."""

    def __init__(self, name: str) -> None:
        self.name = name


async def seconds(executor: Literal["monty", "python"], packages: list[str]) -> list[float]:
    """How long each step of one run took."""
    programs = ["x = 1", *(f"import {name}" for name in packages), *(f"x + {n}" for n in range(STEPS))]
    replies = [f"```python\n{program}\n```" for program in [*programs, "final_answer(x)"]]
    agent = Agent(
        ScriptedModel(replies), None, preset="code", executor=executor, packages=packages,
        max_iterations=len(replies) + 1, plugins=[Nothing("planner"), Nothing("observer")],
    )  # fmt: skip
    run = agent.start("Add.")
    result = await run
    if result.answer != "1":
        raise AssertionError(result)
    started = {record.event.call_id: record.time for record in run.records if isinstance(record.event, ToolStarted)}
    ended = {record.event.call_id: record.time for record in run.records if isinstance(record.event, ToolDone)}
    return [ended[call] - began for call, began in started.items()]


async def main(packages: list[str]) -> None:
    table: list[tuple[str, Literal["monty", "python"], list[str]]] = [("monty", "monty", []), ("python", "python", [])]
    if packages:
        began = time.monotonic()
        await seconds("python", packages)
        print(f"with {', '.join(packages)}: first run {time.monotonic() - began:.1f} s (makes the environment)")
        table.append((f"python, {', '.join(packages)}", "python", packages))
    print("| executor | first step, ms | imports, ms | each step after, ms |\n|---|---:|---:|---:|")
    for name, executor, wanted in table:
        runs = [await seconds(executor, wanted) for _ in range(RUNS)]
        first, rest = [run[0] for run in runs], [one for run in runs for one in run[1 + len(wanted) :]]
        imports = [sum(run[1 : 1 + len(wanted)]) for run in runs]
        columns = [statistics.median(column) * 1000 for column in (first, imports, rest)]
        print(f"| {name} | {' | '.join(f'{value:.1f}' for value in columns)} |")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
