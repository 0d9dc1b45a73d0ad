"""Tools, models and arguments that do their worst: always an outcome, soon."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from treadle._tools import runner, streaming
from treadle._tools.base import Limits, Tool, ToolOutcome
from treadle._tools.function import tool
from treadle._tools.runner import run_call
from treadle._tools.threads import ToolThreads
from treadle._tools.toolkit import Toolkit
from treadle._types.messages import ToolCall, text_of

Call = Callable[..., ToolOutcome]
ACall = Callable[..., Any]


class Nasty(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


@pytest.mark.parametrize(
    "error",
    [
        SystemExit(3),
        KeyboardInterrupt(),
        asyncio.CancelledError(),
        RecursionError(),
        MemoryError(),
        StopIteration(),
        StopAsyncIteration(),
        Nasty(),
        BaseExceptionGroup("g", [KeyboardInterrupt(), SystemExit()]),
        ValueError("\ud800"),
        BaseException("base"),
    ],
)
@pytest.mark.parametrize("detail", ["class", "message", "full"])
def test_whatever_a_tool_raises_is_an_outcome(call: Call, error: BaseException, detail: str) -> None:
    @tool
    async def inline() -> None:
        raise error

    @tool
    def threaded() -> None:
        raise error

    @tool
    def generator() -> Iterator[str]:
        yield "a"
        raise error

    @tool
    async def agenerator() -> AsyncIterator[str]:
        yield "a"
        raise error

    for each in (inline, threaded, generator, agenerator):
        outcome = call(each, error_detail=detail)
        assert outcome.error == "exception"
        assert text_of(outcome.content).startswith(f"Tool '{each.name}' failed: ")
        assert text_of(outcome.content).encode()


def test_a_generator_exit_in_a_thread_is_an_outcome(call: Call) -> None:
    @tool
    def leave() -> None:
        raise GeneratorExit

    assert call(leave).error == "exception"


def test_endless_recursion_is_an_outcome(call: Call) -> None:
    @tool
    async def deep() -> None:
        def again() -> None:
            again()

        again()

    assert call(deep, error_detail="full").content
    assert call(deep).content == "Tool 'deep' failed: RecursionError"


def test_generators_that_never_end_stop_at_the_time_out(call: Call, context: Any) -> None:
    closed = threading.Event()

    @tool(timeout=0.2)
    def endless() -> Iterator[str]:
        try:
            while True:
                yield "x"
        finally:
            closed.set()

    @tool(timeout=0.2)
    async def never_waits() -> AsyncIterator[str]:
        while True:
            yield "y"

    @tool(timeout=0.2)
    async def will_not_close() -> AsyncIterator[str]:
        try:
            while True:
                yield "z"
        finally:
            await asyncio.sleep(30)

    for each, bound in ((endless, 1.5), (never_waits, 1.5), (will_not_close, 4)):
        context.pieces.clear()
        started = time.perf_counter()
        outcome = call(each)
        assert time.perf_counter() - started < bound
        assert outcome.error == "timeout"
        assert text_of(outcome.content).startswith(f"Tool '{each.name}' timed out after 0.2 s. Output so far:\n")
        assert len(text_of(outcome.content)) <= 12_000
        assert context.pieces
    assert closed.wait(5)


def test_a_generator_is_not_read_ahead_of_the_loop(acall: ACall) -> None:
    produced: list[int] = []

    @tool
    def fast() -> Iterator[str]:
        for number in range(10_000):
            produced.append(number)
            yield "x"

    async def main() -> None:
        task = asyncio.create_task(acall(fast))
        await asyncio.sleep(0)
        time.sleep(0.2)  # noqa: ASYNC251 - the loop is busy on purpose
        assert len(produced) <= 70
        assert (await task).content == "x" * 10_000

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_generator_is_stopped_when_its_output_is_too_large(
    call: Call, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(streaming, "MAX_STREAMED", 1000)

    def sync() -> Iterator[str]:
        while True:
            yield "x" * 300

    async def other() -> AsyncIterator[str]:
        while True:
            yield "x" * 300

    outcome = call(tool(sync if kind == "sync" else other))
    assert outcome.error == ""
    assert outcome.content == "x" * 1000 + "\n[stopped after 1000 characters]"


def test_a_tool_that_destroys_its_arguments_does_not_reach_the_log(context: Any) -> None:
    @tool
    def destroy(items: list[Any], options: dict[str, Any], anything: Any) -> str:
        items.clear()
        options.clear()
        anything["deep"].append(1)
        return "gone"

    args: dict[str, Any] = {"items": [1, 2], "options": {"a": 1}, "anything": {"deep": []}}
    call = ToolCall("c", "destroy", args)
    outcome = asyncio.run(
        run_call(destroy, call, limits=Limits(), toolkit=Toolkit([destroy]), extras={}, context=context)
    )
    assert outcome.content == "gone"
    assert call.args == {"items": [1, 2], "options": {"a": 1}, "anything": {"deep": []}}


@tool
async def add(a: int, b: Any = None) -> str:
    return f"{a} {b}"


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "args",
    [
        {f"key{i}": i for i in range(10_000)},
        {"a": nested(100_000)},
        {"a": nested(600)},
        {"a": 1, "b": nested(100_000)},
        {"a": float("nan")},
        {"a": float("inf")},
        {"a": "\ud800"},
        {"\ud800": 1},
        {"a": "x" * 10_000_000},
        {"a": 10**5000},
        {"a": 1, "b": object()},
        {"a": 1, "b": {1, 2}},
        {1: 1},
        {"a": [{"a": [1] * 100_000}] * 3},
        {"self": 1},
    ],
)
@pytest.mark.parametrize("policy", ["reject", "prune", "schema"])
@pytest.mark.no_cover  # its time is measured
def test_hostile_arguments_are_answered_briefly_and_soon(call: Call, args: dict[str, Any], policy: str) -> None:
    started = time.perf_counter()
    outcome = call(add, args, unknown_args=policy)
    assert time.perf_counter() - started < 3
    assert len(text_of(outcome.content)) < 3000
    assert text_of(outcome.content).encode()
    if outcome.error:
        assert (outcome.error, outcome.executed) == ("invalid_args", False)
    else:
        assert args.keys() == {"a", "b"}


def test_a_tool_that_lies_about_its_signature_is_an_outcome(call: Call) -> None:
    lying = Tool("lying", "", {"type": "object", "properties": {"a": {}}}, lambda: None)
    assert call(lying, {"a": 1}).content == "Tool 'lying' failed: TypeError"
    broken = add.replace(convert=lambda args: 1 / 0)  # type: ignore[arg-type, return-value]
    assert (call(broken, {"a": 1}).error, call(broken, {"a": 1}).executed) == ("invalid_args", False)


def test_values_that_fight_back_are_outcomes(call: Call) -> None:
    class Explodes:
        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError("hands off")

    @tool
    async def give() -> Any:
        return Explodes()

    assert call(give).content


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


def test_many_calls_at_once(acall: ACall) -> None:
    @tool
    def sync(n: int) -> int:
        time.sleep(0.001)
        return n

    @tool
    def pieces(n: int) -> Iterator[str]:
        yield from str(n)

    async def main() -> None:
        for each in (sync, pieces):
            outcomes = await asyncio.gather(*(acall(each, {"n": n}) for n in range(300)))
            assert [outcome.content for outcome in outcomes] == [str(n) for n in range(300)]

    asyncio.run(main())
