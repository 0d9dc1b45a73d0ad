"""Time-outs and cancellation of tool calls."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from treadle._tools.base import ToolOutcome
from treadle._tools.function import tool

Call = Callable[..., ToolOutcome]


ACall = Callable[..., Any]


def test_a_tool_that_catches_its_own_failing_tasks_is_not_taken_for_cancelled(call: Call) -> None:
    @tool
    async def survives() -> str:
        async def fail() -> None:
            raise ValueError

        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(fail())
        except* ValueError:
            pass
        return "one failed"

    assert call(survives).content == "one failed"


def test_a_time_out_of_ours_and_one_of_the_tools_own(call: Call) -> None:
    @tool(timeout=0.05)
    async def slow() -> None:
        await asyncio.sleep(5)

    @tool(timeout=5)
    async def own() -> None:
        raise TimeoutError("upstream")

    @tool(timeout=0.05)
    def blocked() -> None:
        time.sleep(0.3)

    @tool(timeout=0.05)
    async def disguises() -> None:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            raise ValueError("something") from None

    for each in (slow, blocked, disguises):
        outcome = call(each)
        assert (outcome.error, outcome.executed) == ("timeout", True)
        assert outcome.content == f"Tool '{each.name}' timed out after 0.05 s."
        assert outcome.elapsed < 0.25
    assert (call(own).error, call(own).content) == ("exception", "Tool 'own' failed: TimeoutError")


def test_the_limit_overrides_the_tools_own_time_out(call: Call) -> None:
    @tool(timeout=0.01)
    async def slow() -> str:
        await asyncio.sleep(0.1)
        return "done"

    assert call(slow, timeout=5).content == "done"
    assert call(slow.replace(timeout=None), timeout=0.01).error == "timeout"
    assert call(slow.replace(timeout=None)).content == "done"


def test_cancelling_gets_out_at_once_and_a_sync_tool_is_left_behind(acall: ACall) -> None:
    release = threading.Event()
    ended: list[str] = []

    @tool(timeout=None)
    def stuck() -> None:
        release.wait(10)
        ended.append("sync")

    @tool(timeout=None)
    async def waits() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            ended.append("async")

    async def main() -> None:
        for each in (stuck, waits):
            task = asyncio.create_task(acall(each))
            await asyncio.sleep(0.05)
            started = time.perf_counter()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert time.perf_counter() - started < 0.5
        assert ended == ["async"]

    asyncio.run(main())
    release.set()
