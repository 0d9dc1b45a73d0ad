"""Pure tools start while the model still writes; nothing unsafe ever does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from kit import go
from treadle import Agent, ScriptedModel, tool
from treadle._types.request import CallDelta, RawCall, Reply, Request, StreamPart

STARTED: list[tuple[str, float]] = []


async def nap(n: int) -> str:
    STARTED.append((f"nap {n}", time.perf_counter()))
    await asyncio.sleep(0.3)
    return f"slept {n}"


pure_nap = tool(nap, effect="pure", description="Sleep.")
unsafe_nap = tool(nap, name="write", description="Sleep and write.")


class Slow(ScriptedModel):
    """Writes three calls over 0.9 seconds, then answers."""

    def __init__(self, name: str, finish: Any = "calls", fail_after: int = 9) -> None:
        super().__init__([])
        self.tool, self.finish, self.fail_after, self.ended = name, finish, fail_after, 0.0

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        self.requests.append(request)
        if len(self.requests) > 1:
            yield Reply("done")
            return
        for n in range(3):
            yield CallDelta(n, f"c{n}", self.tool)
            yield CallDelta(n, arguments=f'{{"n": {n}}}', done=True)
            await asyncio.sleep(0.3)
        self.ended = time.perf_counter()
        yield Reply(calls=tuple(RawCall(f"c{n}", self.tool, f'{{"n": {n}}}') for n in range(3)), finish=self.finish)


def run(model: Slow, **settings: Any) -> Any:
    STARTED.clear()
    began = time.perf_counter()
    result = go(Agent(model, [pure_nap, unsafe_nap], stream_thoughts=True, **settings).run("q"))
    return result, time.perf_counter() - began


def test_three_streamed_pure_calls_overlap_the_writing():
    times = []
    for _ in range(3):
        model = Slow("nap")
        result, elapsed = run(model)
        times.append(elapsed)
        assert [step.observation for step in result.steps] == ["slept 0", "slept 1", "slept 2"]
        assert len(STARTED) == 3  # each ran once
    assert min(times) < 1.0  # 0.9 of writing; after it they would end at 1.2, one after the other at 1.8
    assert STARTED[0][1] < model.ended - 0.4


def test_nothing_unsafe_starts_early():
    model = Slow("write")
    result, _ = run(model)
    assert len(result.steps) == 3
    assert all(at >= model.ended for _, at in STARTED)


def test_a_budget_or_an_extra_gate_means_no_early_start():
    from treadle import Budget

    model = Slow("nap")
    run(model, budget=Budget(tool_calls=10))
    assert all(at >= model.ended for _, at in STARTED)


def test_a_reply_cut_by_length_uses_no_early_result():
    model = Slow("nap", finish="length")
    result, _ = run(model)
    assert result.answer == "done"
    assert len(result.steps) == 3
