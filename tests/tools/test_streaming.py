"""Tools that are generators: shown piece by piece, stopped in time and size."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from kit import until
from treadle._tools import streaming
from treadle._tools.base import ToolOutcome, ToolResponse
from treadle._tools.function import tool
from treadle._types.messages import text_of

Call = Callable[..., ToolOutcome]
ACall = Callable[..., Any]


def test_generators_that_never_end_stop_at_the_time_out(call: Call, context: Any) -> None:
    closed = threading.Event()

    @tool(timeout=0.4)
    def endless() -> Iterator[str]:
        try:
            while True:
                yield "x"
        finally:
            closed.set()

    @tool(timeout=0.4)
    async def never_waits() -> AsyncIterator[str]:
        while True:
            yield "y"

    @tool(timeout=0.4)
    async def will_not_close() -> AsyncIterator[str]:
        try:
            while True:
                yield "z"
        finally:
            await asyncio.sleep(3600)

    for each in (endless, never_waits, will_not_close):
        context.pieces.clear()
        outcome = call(each)
        assert outcome.error == "timeout"
        assert text_of(outcome.content).startswith(f"Tool '{each.name}' timed out after 0.4 s. Output so far:\n")
        assert len(text_of(outcome.content)) <= 12_000
        assert context.pieces
    assert closed.wait(60)


async def test_a_generator_is_not_read_ahead_of_the_loop(acall: ACall) -> None:
    produced: list[int] = []

    @tool
    def fast() -> Iterator[str]:
        for number in range(10_000):
            produced.append(number)
            yield "x"

    task = asyncio.create_task(acall(fast))
    await asyncio.sleep(0)
    while len(produced) < 64:  # the loop is busy on purpose
        time.sleep(0.01)  # noqa: ASYNC251
    time.sleep(0.1)  # noqa: ASYNC251 - time enough to produce thousands, if nothing held it back
    assert len(produced) <= 70
    assert (await task).content == "x" * 10_000


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


async def test_pieces_are_shown_as_they_come_and_the_whole_is_the_observation(acall: ACall, context: Any) -> None:
    go_on = threading.Event()

    @tool
    def sync() -> Iterator[Any]:
        yield "a"
        assert go_on.wait(60)
        yield 1
        yield None
        yield "b"

    @tool
    async def other() -> AsyncIterator[str]:
        yield "x"
        await asyncio.sleep(0.01)
        yield "y"

    running = asyncio.create_task(acall(sync))
    await until(lambda: context.pieces)
    assert context.pieces == ["a"]
    go_on.set()
    assert (await running).content == "a1b"
    assert (await acall(other)).content == "xy"
    assert context.pieces == ["a", "1", "b", "x", "y"]


def test_generators_may_end_in_a_response_or_be_part_of_one(call: Call) -> None:
    def pieces() -> Iterator[str]:
        yield "a"
        yield "b"

    @tool
    def returns() -> Iterator[str]:
        yield "a"
        return ToolResponse("!", final_answer=True)

    @tool
    async def yields() -> AsyncIterator[Any]:
        yield "a"
        yield ToolResponse("!", extras={"k": 1})

    @tool
    def inside() -> ToolResponse:
        return ToolResponse(pieces(), final_answer=True)

    @tool
    async def inside_async() -> ToolResponse:
        return ToolResponse(pieces(), final_answer=True)

    @tool
    async def an_iterator() -> Any:
        return map(str, range(3))

    @tool
    def empty() -> Iterator[str]:
        yield from ()

    assert (call(returns).content, call(returns).final) == ("a!", True)
    assert (call(yields).content, call(yields).extras) == ("a!", {"k": 1})
    for each in (inside, inside_async):
        assert (call(each).content, call(each).final) == ("ab", True)
    assert call(an_iterator).content == "012"
    assert call(empty).content == "(no output)"
