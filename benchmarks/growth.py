"""What a step costs in a run of 5 000 steps, beside one of 500: live, replayed, explained; a search in 20 000 vectors.

python3 tasks.py measure growth [STEPS]
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from treadle import Agent, tool
from treadle._inspect.replay import blame, replay
from treadle._journal.memory import MemoryJournal
from treadle._models.embeddings import VectorTable, packed
from treadle._types.events import Record, ThinkStarted
from treadle._types.profile import Profile
from treadle._types.request import RawCall, Reply, Request
from treadle._types.usage import Usage

SHORT = 500


class Endless:
    """A model that costs the same at each step: it looks at nothing."""

    name, profile = "endless", Profile(tool_call=True)

    def __init__(self, steps: int) -> None:
        self._left, self._steps = steps, steps

    async def stream(self, request: Request) -> AsyncIterator[Any]:
        self._left -= 1
        number = self._steps - self._left
        calls = (RawCall(f"c{number}", "look", f'{{"number": {number}}}'),) if self._left >= 0 else ()
        yield Reply("" if calls else "Done.", calls, usage=Usage(10, 10, requests=1))

    async def aclose(self) -> None:
        return


@tool(effect="pure")
async def look(number: int) -> str:
    """Look at a number."""
    return f"{number} crates"


def cost(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def figures(steps: int) -> dict[str, float]:
    records: list[Record] = []

    def live() -> None:
        journal = MemoryJournal()
        agent = Agent(Endless(steps), [look], journal=journal, max_iterations=steps + 5)
        result = agent.run_sync("go")
        assert len(result.steps) == steps, result.error
        records.extend(asyncio.run(journal.load(result.run_id)))

    seconds = {"live": cost(live)}
    seconds["replay"] = cost(lambda: replay(records))
    asked = [record.seq for record in records if isinstance(record.event, ThinkStarted)]
    seconds["explain the last request"] = cost(lambda: blame(records, asked[-1]))
    return {name: 1000 * value / steps for name, value in seconds.items()}


def main(steps: int) -> int:
    figures(50)  # what is imported and compiled at the first use
    short, long = figures(SHORT), figures(steps)
    for name, value in long.items():
        times = value / short[name]
        print(f"{name:28} {short[name]:7.3f} ms a step at {SHORT}, {value:7.3f} at {steps}: {times:.2f} times")
    chance = random.Random(7)
    vectors = [(index, packed([chance.gauss(0, 1) for _ in range(384)])) for index in range(20_000)]
    table = VectorTable(vectors)
    asked = packed([chance.gauss(0, 1) for _ in range(384)])
    table.nearest(asked, 50)
    spent = sorted(cost(lambda: table.nearest(asked, 50)) for _ in range(9))
    print(f"{'the nearest of 20 000 vectors':28} {1000 * spent[4]:7.1f} ms")
    return 0 if all(value <= 1.5 * short[name] for name, value in long.items()) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000))
