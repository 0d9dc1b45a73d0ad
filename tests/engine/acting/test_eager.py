"""Pure tools start while the model still writes; nothing unsafe ever does. All in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from treadle import Agent, Budget, RunResult, ScriptedModel, tool
from treadle._types.request import CallDelta, RawCall, Reply, Request, StreamPart
from virtual_time import go_virtual

WRITING, WORK = 0.3, 0.3


class Slow(ScriptedModel):
    """Writes three calls, one every 0.3 seconds, then answers."""

    def __init__(self, name: str, finish: Any = "calls") -> None:
        super().__init__([])
        self.tool, self.finish, self.ended = name, finish, 0.0

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        self.requests.append(request)
        if len(self.requests) > 1:
            yield Reply("done")
            return
        for n in range(3):
            yield CallDelta(n, f"c{n}", self.tool)
            yield CallDelta(n, arguments=f'{{"n": {n}}}', done=True)
            await asyncio.sleep(WRITING)
        self.ended = asyncio.get_running_loop().time()
        yield Reply(calls=tuple(RawCall(f"c{n}", self.tool, f'{{"n": {n}}}') for n in range(3)), finish=self.finish)


def run(model: Slow, **settings: Any) -> tuple[RunResult, float, list[float]]:
    """The result, how long the run took, and when each call started."""
    started: list[float] = []

    async def nap(n: int) -> str:
        started.append(asyncio.get_running_loop().time())
        await asyncio.sleep(WORK)
        return f"slept {n}"

    tools = [tool(nap, effect="pure", description="Sleep."), tool(nap, name="write", description="Sleep and write.")]
    result, seconds = go_virtual(Agent(model, tools, stream_thoughts=True, **settings).run("q"))
    return result, seconds, started


def test_three_streamed_pure_calls_overlap_the_writing():
    model = Slow("nap")
    result, seconds, started = run(model)
    assert [step.observation for step in result.steps] == ["slept 0", "slept 1", "slept 2"]
    assert started == pytest.approx([0, WRITING, 2 * WRITING])
    assert seconds == pytest.approx(3 * WRITING)


def test_nothing_unsafe_starts_early():
    model = Slow("write")
    result, seconds, started = run(model)
    assert len(result.steps) == 3
    assert started == pytest.approx([model.ended] * 3)
    assert seconds == pytest.approx(3 * WRITING + WORK)


@pytest.mark.parametrize(
    "settings",
    [{"budget": Budget(tool_calls=10)}, {"max_parallel": 1}, {"one_tool_per_step": True}],
    ids=["a budget of calls", "one at a time", "one per step"],
)
def test_whatever_stands_between_a_call_and_its_execution_means_no_early_start(settings: dict[str, Any]):
    model = Slow("nap")
    _, _, started = run(model, **settings)
    assert started
    assert min(started) >= model.ended


def test_no_more_calls_start_early_than_may_run_at_once():
    model = Slow("nap")
    _, _, started = run(model, max_parallel=2)
    assert started == pytest.approx([0, WRITING, model.ended])


def test_a_reply_cut_by_length_uses_no_early_result():
    model = Slow("nap", finish="length")
    result, _, started = run(model)
    assert result.answer == "done"
    assert len(result.steps) == 3
    assert [at for at in started if at >= model.ended] == pytest.approx([model.ended] * 3)
