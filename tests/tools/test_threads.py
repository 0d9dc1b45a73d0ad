"""The threads of sync tools: replaced when they hang, bounded in number, no burden for the process."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from treadle._tools import runner
from treadle._tools.function import tool
from treadle._tools.threads import ToolThreads

ACall = Callable[..., Any]


def test_hung_threads_are_replaced_and_bounded() -> None:
    release = threading.Event()

    async def main() -> None:
        pool = ToolThreads(size=2, max_abandoned=3)
        for _ in range(3):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    await pool.run(lambda: release.wait(10))
        assert await pool.run(lambda: "still works") == "still works"

        hung = [asyncio.create_task(pool.run(lambda: release.wait(10))) for _ in range(2)]
        await asyncio.sleep(0.05)
        for task in hung:
            task.cancel()
        await asyncio.gather(*hung, return_exceptions=True)
        began: list[int] = []
        with pytest.raises(TimeoutError):  # no more than size + max_abandoned threads, so this waits
            async with asyncio.timeout(0.05):
                await pool.run(lambda: began.append(1))
        release.set()
        assert await pool.run(lambda: "again") == "again"
        assert began == []  # given up before it began, so it never does

    asyncio.run(main())
    release.set()


def test_a_call_that_found_no_thread_says_it_was_not_executed(acall: ACall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_threads", ToolThreads(size=1))
    release = threading.Event()

    @tool
    def stuck() -> None:
        release.wait(10)

    @tool(timeout=0.05)
    def late() -> str:
        return "late"

    async def main() -> None:
        first = asyncio.create_task(acall(stuck))
        await asyncio.sleep(0.05)
        outcome = await acall(late)
        assert (outcome.error, outcome.executed) == ("timeout", False)
        assert "was not started" in outcome.content
        release.set()
        assert (await first).error == ""

    asyncio.run(main())


def test_a_sync_tool_that_never_ends_does_not_hold_up_the_end_of_the_process() -> None:
    code = """
        import asyncio, time
        from treadle._tools.base import Limits
        from treadle._tools.function import tool
        from treadle._tools.runner import run_call
        from treadle._tools.toolkit import Toolkit
        from treadle._types.messages import ToolCall

        @tool(timeout=0.1)
        def stuck() -> None:
            time.sleep(600)

        class Context:
            run_id = call_id = idempotency_key = ""
            run = None
            def output(self, text): ...

        kit, call = Toolkit([stuck]), ToolCall("c", "stuck")
        print(asyncio.run(run_call(stuck, call, limits=Limits(), toolkit=kit, extras={}, context=Context())).error)
    """
    source = str(Path(__file__).parents[2] / "src")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=30,
        env={"PYTHONPATH": source, "PATH": ""},
    )
    assert (done.stdout.strip(), done.returncode, done.stderr) == ("timeout", 0, "")


def test_sync_tools_run_beside_the_loop_in_threads_of_their_own(acall: ACall) -> None:
    where: list[threading.Thread] = []

    @tool
    def slow() -> str:
        where.append(threading.current_thread())
        time.sleep(0.2)
        return "done"

    async def main() -> int:
        ticks = 0
        pending = asyncio.gather(*(acall(slow) for _ in range(8)))
        while not pending.done():
            await asyncio.sleep(0.01)
            ticks += 1
        assert [outcome.content for outcome in await pending] == ["done"] * 8
        return ticks

    started = time.perf_counter()
    assert asyncio.run(main()) >= 3
    assert time.perf_counter() - started < 1.2
    assert all(thread.daemon and thread.name == "treadle-tool" for thread in where)


def test_context_variables_reach_every_kind_of_tool(acall: ACall) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")

    @tool
    def sync() -> str:
        return variable.get()

    @tool
    async def other() -> str:
        return variable.get()

    @tool
    def pieces() -> Iterator[str]:
        yield variable.get()

    async def main() -> None:
        variable.set("here")
        assert [(await acall(each)).content for each in (sync, other, pieces)] == ["here"] * 3

    asyncio.run(main())
