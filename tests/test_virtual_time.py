"""The clock that jumps."""

from __future__ import annotations

import asyncio

import pytest

from virtual_time import go_virtual


def test_an_hour_takes_an_hour_of_the_loop_and_no_time():
    async def main() -> str:
        await asyncio.sleep(3600)
        return "awake"

    assert go_virtual(main()) == ("awake", pytest.approx(3600))


def test_what_runs_at_once_takes_the_time_of_the_longest():
    async def main() -> None:
        await asyncio.gather(*(asyncio.sleep(seconds) for seconds in (1, 5, 3)))

    assert go_virtual(main())[1] == pytest.approx(5)


def test_timers_fire_in_order():
    seen: list[int] = []

    async def wait(seconds: int) -> None:
        await asyncio.sleep(seconds)
        seen.append(seconds)

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for seconds in (3, 1, 2):
                group.create_task(wait(seconds))

    go_virtual(main())
    assert seen == [1, 2, 3]


def test_a_limit_is_reached_before_what_takes_longer():
    async def main() -> str:
        try:
            async with asyncio.timeout(0.5):
                await asyncio.sleep(60)
        except TimeoutError:
            return "timed out"
        return "slept"

    assert go_virtual(main()) == ("timed out", pytest.approx(0.5))
