"""The threads of sync tools: replaced when they hang, bounded in number, no burden for the process."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kit import go, until
from treadle._tools import runner
from treadle._tools.function import tool
from treadle._tools.threads import ToolThreads

ACall = Callable[..., Any]


def test_hung_threads_are_replaced_and_bounded() -> None:
    release = threading.Event()

    async def hang(pool: ToolThreads) -> asyncio.Task[Any]:
        """A call that runs in a thread and does not end."""
        started = threading.Event()

        def work() -> None:
            started.set()
            release.wait(3600)

        task = asyncio.create_task(pool.run(work))
        await until(started.is_set)
        return task

    async def give_up(*tasks: asyncio.Task[Any]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def main() -> None:
        pool = ToolThreads(size=2, max_abandoned=3)
        for _ in range(3):
            await give_up(await hang(pool))
        assert await pool.run(lambda: "still works") == "still works"

        await give_up(await hang(pool), await hang(pool))
        ran: list[int] = []
        with pytest.raises(TimeoutError):  # no more than size + max_abandoned threads, so this waits
            async with asyncio.timeout(0.05):
                await pool.run(lambda: ran.append(1))
        release.set()
        assert await pool.run(lambda: "again") == "again"
        assert ran == []  # given up before it started, so it never does

    go(main())


async def test_a_call_that_got_no_thread_says_it_was_not_executed(
    acall: ACall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_threads", ToolThreads(size=1))
    release, started = threading.Event(), threading.Event()

    @tool(timeout=None)
    def stuck() -> None:
        started.set()
        release.wait(3600)

    @tool(timeout=0.05)
    def late() -> str:
        return "late"

    first = asyncio.create_task(acall(stuck))
    await until(started.is_set)
    outcome = await acall(late)
    assert (outcome.error, outcome.executed) == ("timeout", False)
    assert "was not started" in outcome.content
    release.set()
    assert (await first).error == ""


def test_a_sync_tool_that_never_ends_does_not_hold_up_the_end_of_the_process() -> None:
    code = """
        import asyncio, time
        from treadle._tools.base import Limits
        from treadle._tools.function import tool
        from treadle._tools.runner import run_call
        from treadle._tools.toolkit import Toolkit
        from treadle._types.messages import ToolCall

        @tool(timeout=0.1, description="Sleeps.")
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
        timeout=100,
        env={"PYTHONPATH": source, "PATH": ""},
    )
    assert (done.stdout.strip(), done.returncode, done.stderr) == ("timeout", 0, "")


async def test_sync_tools_run_at_the_same_time_in_threads_of_their_own(acall: ACall) -> None:
    threads: list[threading.Thread] = []
    release = threading.Event()

    @tool(timeout=None)
    def waits() -> str:
        threads.append(threading.current_thread())
        assert release.wait(60)
        return "done"

    calls = asyncio.gather(*(acall(waits) for _ in range(8)))
    await until(lambda: len(threads) == 8)  # all of them run, and so does the event loop
    release.set()
    assert [outcome.content for outcome in await calls] == ["done"] * 8
    assert len(set(threads)) == 8
    assert all(thread.daemon and thread.name == "treadle-tool" for thread in threads)


async def test_context_variables_reach_every_kind_of_tool(acall: ACall) -> None:
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

    variable.set("here")
    assert [(await acall(each)).content for each in (sync, other, pieces)] == ["here"] * 3
