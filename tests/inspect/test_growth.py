"""What a step costs does not depend on how many there were before it: live, replayed, explained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kit import counted_calls
from treadle import Agent, ScriptedModel, tool
from treadle._inspect.prefixes import prefixes
from treadle._inspect.replay import blame, replay
from treadle._types.events import Record, ThinkStarted
from treadle._types.state import fold


@tool(effect="pure")
def look(n: int) -> str:
    """Look at a number."""
    return f"{n} it is"


def work_of(do: Callable[[], Any]) -> int:
    with counted_calls() as calls_so_far:
        do()
        return calls_so_far()


async def run_of(steps: int) -> list[Record]:
    script: list[Any] = [{"name": "look", "args": {"n": number}} for number in range(steps)]
    run = Agent(ScriptedModel([*script, "done"]), [look], max_iterations=steps + 2).start("go")
    await run
    return list(run.records)


def explained(records: Sequence[Record]) -> Any:
    return blame(records, max(record.seq for record in records if isinstance(record.event, ThinkStarted)))


async def test_ten_times_the_steps_are_ten_times_the_work():
    short, long = await run_of(20), await run_of(200)
    for do in (fold, replay, prefixes, explained):
        do(short)  # what is made once is made before it is counted
        few, many = work_of(lambda do=do: do(short)), work_of(lambda do=do: do(long))
        assert many <= 12 * few, f"{do.__name__}: {few} for 20 steps, {many} for 200"
