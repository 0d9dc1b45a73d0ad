"""Small things many tests need."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from treadle import tool
from treadle._engine.plugin import Plugin
from treadle._types.messages import AssistantMessage, Message, ToolMessage, UserMessage

T = TypeVar("T")


def go(work: Coroutine[Any, Any, T], limit: float = 100.0) -> T:
    """Run async work to its end; the limit only keeps a test that hangs from hanging for ever."""

    async def bounded() -> T:
        async with asyncio.timeout(limit):
            return await work

    return asyncio.run(bounded())


async def until(condition: Callable[[], object], limit: float = 60.0) -> None:
    """Wait until the condition is true: tests wait for what must happen, not for some time to pass."""
    async with asyncio.timeout(limit):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.002)  # the condition may be about a thread or another process


@contextmanager
def row(*values: object) -> Generator[None]:
    """Name a row of a table in whatever fails in the block: one test goes through the whole table."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in the row {repr(values)[:500]}")
        raise


@asynccontextmanager
async def counted_turns() -> AsyncIterator[list[int]]:
    """A list whose last number grows by one in each turn of the event loop; append a 0 to count anew."""
    turns = [0]

    async def count() -> None:
        while True:
            turns[-1] += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    try:
        yield turns
    finally:
        counting.cancel()


@contextmanager
def counted_calls() -> Generator[Callable[[], int]]:
    """How many functions were called so far: a measure of work that no load of the machine changes."""
    total = 0

    def count_call(frame: Any, event: str, argument: Any) -> None:
        nonlocal total
        if "slipcover" not in frame.f_code.co_filename:  # which counts lines, and now and then looks at everything
            total += event in ("call", "c_call")

    before = sys.getprofile()
    gc.collect()
    gc.disable()  # what other tests have left is finished off inside whatever runs then, and would be counted
    sys.setprofile(count_call)
    try:
        yield lambda: total
    finally:
        sys.setprofile(before)
        gc.enable()


@tool(effect="pure")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(effect="pure")
async def echo(text: str) -> str:
    """Say it again."""
    return text


@tool
async def fail(text: str = "boom") -> str:
    """Fail."""
    raise ValueError(text)


class Without(Plugin):
    """Takes the place of a preset's plug-in of this name, and does nothing."""

    def __init__(self, name: str) -> None:
        self.name = name


NO_ADVICE = (Without("planner"), Without("observer"))
"""For tests of a preset whose model has no script for its advisers."""


def call(name: str, /, **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args}


def assert_paired(messages: list[Message] | tuple[Message, ...]) -> None:
    """Every call is directly followed by its result, in call order, and no result stands alone."""
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            assert waiting, f"a result without a call: {message}"
            assert message.call_id == waiting.pop(0)
        else:
            assert not waiting, f"calls without results before {message}: {waiting}"
            if isinstance(message, AssistantMessage):
                waiting = [made.id for made in message.calls]
    assert not waiting, f"calls without results at the end: {waiting}"


def user_texts(messages: Any) -> list[str]:
    return [str(message.content) for message in messages if isinstance(message, UserMessage)]
