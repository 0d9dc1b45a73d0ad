"""Time-outs and cancellation of tool calls."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from kit import until
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
    release = threading.Event()

    @tool(timeout=0.05)
    async def slow() -> None:
        await asyncio.sleep(3600)

    @tool(timeout=60)
    async def own() -> None:
        raise TimeoutError("upstream")

    @tool(timeout=1.0)  # long enough for its thread to start on a busy machine
    def blocked() -> None:
        release.wait(3600)

    @tool(timeout=0.05)
    async def disguises() -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            raise ValueError("something") from None

    for each in (slow, blocked, disguises):
        outcome = call(each)
        assert (outcome.error, outcome.executed) == ("timeout", True)
        assert outcome.content == f"Tool '{each.name}' timed out after {each.timeout:g} s."
    assert (call(own).error, call(own).content) == ("exception", "Tool 'own' failed: TimeoutError")
    release.set()


def test_the_limit_overrides_the_tools_own_time_out(call: Call) -> None:
    @tool(timeout=0.01)
    async def short() -> str:
        await asyncio.sleep(0.1)
        return "done"

    @tool(timeout=None)
    async def endless() -> None:
        await asyncio.sleep(3600)

    assert call(short, timeout=60).content == "done"
    assert call(short.replace(timeout=None)).content == "done"
    assert call(endless, timeout=0.01).error == "timeout"


async def test_a_cancelled_call_ends_at_once_and_its_sync_tool_is_left_behind(acall: ACall) -> None:
    release, started = threading.Event(), threading.Event()
    ended: list[str] = []

    @tool(timeout=None)
    def stuck() -> None:
        started.set()
        release.wait(3600)
        ended.append("sync")

    @tool(timeout=None)
    async def waits() -> None:
        started.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append("async")

    for each in (stuck, waits):
        started.clear()
        task = asyncio.create_task(acall(each))
        await until(started.is_set)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert ended == ["async"]
    release.set()
