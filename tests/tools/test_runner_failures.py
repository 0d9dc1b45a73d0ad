"""Tools, models and arguments that do their worst: the result is always an outcome."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import product
from typing import Any

import pytest

from kit import row
from tools.calls import called
from treadle import Agent, ScriptedModel, ToolError
from treadle._tools.base import Tool, ToolOutcome
from treadle._tools.function import tool
from treadle._tools.toolkit import Toolkit
from treadle._types.messages import ToolCall, text_of

Call = Callable[..., ToolOutcome]


ACall = Callable[..., Any]


class Nasty(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


ERRORS: list[BaseException] = [
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
]


def test_whatever_a_tool_raises_is_an_outcome(call: Call) -> None:
    @tool
    async def inline(number: int) -> None:
        raise ERRORS[number]

    @tool
    def threaded(number: int) -> None:
        raise ERRORS[number]

    @tool
    def generator(number: int) -> Iterator[str]:
        yield "a"
        raise ERRORS[number]

    @tool
    async def agenerator(number: int) -> AsyncIterator[str]:
        yield "a"
        raise ERRORS[number]

    details = ("class", "message", "full")
    for each, number, detail in product((inline, threaded, generator, agenerator), range(len(ERRORS)), details):
        with row(each.name, number, detail):
            outcome = call(each, {"number": number}, error_detail=detail)
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


def test_a_tool_that_destroys_its_arguments_does_not_reach_the_log() -> None:
    @tool
    def destroy(items: list[Any], options: dict[str, Any], anything: Any) -> str:
        items.clear()
        options.clear()
        anything["deep"].append(1)
        return "gone"

    args: dict[str, Any] = {"items": [1, 2], "options": {"a": 1}, "anything": {"deep": []}}
    call = ToolCall("c", "destroy", args)
    assert asyncio.run(called(Toolkit([destroy]), call)).content == "gone"
    assert call.args == {"items": [1, 2], "options": {"a": 1}, "anything": {"deep": []}}


@tool
async def add(a: int, b: Any = None) -> str:
    return f"{a} {b}"


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def test_hostile_arguments_are_answered_briefly_and_soon(call: Call) -> None:
    for args in (
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
        {"a": [{"a": [1] * 20_000}] * 3},
        {"self": 1},
    ):
        for policy in ("reject", "prune", "schema"):
            with row(args, policy):
                started = time.process_time()
                outcome = call(add, args, unknown_args=policy)
                assert time.process_time() - started < 3  # of CPU time; far above what it takes
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


def test_an_async_tool_that_blocks_the_loop_is_told_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    async def slow() -> str:
        """Wait without await."""
        return "x"

    monkeypatch.setattr("treadle._tools.runner.BLOCKED_SECONDS", -1.0)
    Agent(ScriptedModel([{"name": "slow"}, "done"]), [slow]).run_sync("q")
    assert "tool 'slow' blocked the event loop" in caplog.text
    assert "asyncio.to_thread" in caplog.text


def test_a_tool_in_a_thread_is_not_blamed_when_something_else_blocks_the_loop(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def plain() -> str:
        """Wait in a thread."""
        return "x"

    monkeypatch.setattr("treadle._tools.runner.BLOCKED_SECONDS", -1.0)
    Agent(ScriptedModel([{"name": "plain"}, "done"]), [plain]).run_sync("q")
    assert "blocked the event loop" not in caplog.text


@pytest.mark.parametrize("level", ["WARNING", "INFO"])
def test_a_tools_exception_is_there_for_the_developer(level: str, caplog: pytest.LogCaptureFixture):
    def broken() -> str:
        """Break."""
        raise RuntimeError("the disk is full")

    def refusing() -> str:
        """Refuse."""
        raise ToolError("not today")

    caplog.set_level(level)
    model = ScriptedModel([[{"name": "broken"}, {"name": "refusing"}], "done"])
    result = Agent(model, [broken, refusing]).run_sync("q")
    first, second = result.steps
    assert isinstance(first.exception, RuntimeError)
    assert first.exception.__traceback__ is not None
    assert isinstance(second.exception, ToolError)
    assert "disk" not in str(model.requests)
    assert "tool 'broken' failed in run" in caplog.text
    assert "RuntimeError: the disk is full" in caplog.text
    assert ("Traceback" in caplog.text) == (level == "INFO")
    assert "not today" not in caplog.text
