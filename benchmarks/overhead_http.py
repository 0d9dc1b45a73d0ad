"""The rows of `overhead.py` over HTTP: CPU, memory and first token beside the bare loop, against the same server.

python benchmarks/overhead_http.py URL RUNS     # RUNS runs of an agent at once; prints the peak memory of the process
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from bare import (
    DESCRIPTION,
    HEADERS,
    QUESTION,
    SCHEMA,
    SYSTEM,
    Bare,
    bare_stream,
    calculator,
    line_poster,
    peak_memory,
    poster,
)
from measuring import HERE, fresh_process, ratio, times

from treadle import Agent, OpenAIModel, Tool

TOOL = Tool("calculator", DESCRIPTION, SCHEMA, calculator, effect="pure")
EDGE = 50
"""How many steps at each end of a run of 200 are compared."""


@dataclass(frozen=True)
class Stage:
    base: str
    session: aiohttp.ClientSession
    repeats: int
    crowd: int
    """The number of runs at once."""

    def url(self, script: str) -> str:
        return f"{self.base}/{script}/v1"


def agent_for(url: str, tool: Tool = TOOL, **settings: Any) -> Agent:
    model = OpenAIModel("m", base_url=url, api_key="k", abilities={"tool_call": True})
    return Agent(model, [tool], system=SYSTEM, max_iterations=1000, **settings)


def asking(agent: Agent) -> Callable[[], Awaitable[None]]:
    async def ask() -> None:
        assert (await agent.run(QUESTION)).answer.startswith("FINAL")

    return ask


async def ten_steps(stage: Stage) -> dict[str, float]:
    url = stage.url("k10")
    bare = Bare(poster(stage.session, url)).run
    return {"10 steps, CPU beside bare aiohttp": await ratio(asking(agent_for(url)), bare, stage.repeats * 10)}


async def ten_steps_httpx(stage: Stage) -> dict[str, float]:
    """httpx is not a dependency: without it there is no such row."""
    try:
        import httpx
    except ImportError:
        return {}
    url = stage.url("k10")
    limits = httpx.Limits(max_connections=1000, max_keepalive_connections=1000)
    async with httpx.AsyncClient(limits=limits, timeout=60) as client:

        async def post(body: bytes) -> bytes:
            return (await client.post(f"{url}/chat/completions", content=body, headers=HEADERS)).content

        return {
            "10 steps, CPU beside bare httpx": await ratio(
                times(5, asking(agent_for(url))), times(5, Bare(post).run), stage.repeats
            )
        }


async def two_hundred_steps(stage: Stage) -> dict[str, float]:
    url = stage.url("k200")
    bare = Bare(poster(stage.session, url)).run
    return {"200 steps, CPU beside bare aiohttp": await ratio(asking(agent_for(url)), bare, stage.repeats)}


class Ticks:
    """CPU time at every call of the tool, and the smallest CPU time of the first and of the last steps of a run."""

    def __init__(self) -> None:
        self.at: list[float] = []
        self.first = self.last = 9e9

    async def calculator(self, expression: str) -> str:
        self.at.append(time.process_time())
        return await calculator(expression)

    async def over(self, work: Awaitable[Any]) -> None:
        self.at.clear()
        await work
        self.first = min(self.first, self.at[EDGE] - self.at[0])
        self.last = min(self.last, self.at[-1] - self.at[-1 - EDGE])


async def growth(stage: Stage) -> dict[str, float]:
    """The last steps of a long run beside its first.

    The cost of sending the longer requests is measured by a loop that only sends them, without building them: every
    loop has at least this cost.
    """
    url = stage.url("k200")
    post = poster(stage.session, url)
    bodies: list[bytes] = []

    async def keep(body: bytes) -> bytes:
        bodies.append(body)
        return await post(body)

    await Bare(keep).run()
    ours, sent = Ticks(), Ticks()
    agent = agent_for(url, TOOL.replace(execute=ours.calculator))

    async def send() -> None:
        for body in bodies[:-1]:
            await post(body)
            await sent.calculator("1*7")

    await asking(agent)()
    for _ in range(stage.repeats):
        await ours.over(asking(agent)())
        await sent.over(send())
    return {
        "200 steps, last 50 beside first 50": ours.last / ours.first,
        "200 steps, last 50 beside first 50, less the bytes sent": (ours.last - (sent.last - sent.first)) / ours.first,
    }


async def at_once(stage: Stage) -> dict[str, float]:
    url = stage.url("k10")
    agent, bare = agent_for(url), Bare(poster(stage.session, url))

    async def many() -> None:
        await asyncio.gather(*(agent.run(QUESTION) for _ in range(stage.crowd)))

    async def many_bare() -> None:
        await asyncio.gather(*(bare.run() for _ in range(stage.crowd)))

    return {
        f"{stage.crowd} runs at once, CPU beside bare aiohttp": await ratio(many, many_bare, max(3, stage.repeats // 2))
    }


async def memory(stage: Stage) -> dict[str, float]:
    """The peak memory of a new process that only makes 200 runs at once."""
    url = stage.url("k10")
    scripts = "overhead_http.py", "bare.py"
    for script in scripts:
        fresh_process(HERE / script, url, 1)
    ours, bare = (fresh_process(HERE / script, url, 200) for script in scripts)
    return {"200 runs at once, memory beside bare aiohttp": ours / bare}


async def first_token(stage: Stage) -> dict[str, float]:
    """CPU until the first piece of the answer after one step, as a ratio, and how much later ours arrives, there and
    where it is the first reply."""
    cpu, later = await _first_piece(stage, "k1-i2")
    return {
        "first token, CPU beside bare aiohttp": cpu,
        "first token, ms later than bare aiohttp": later,
        "first token of a direct answer, ms later than bare aiohttp": (await _first_piece(stage, "k0-i2"))[1],
    }


async def _first_piece(stage: Stage, script: str) -> tuple[float, float]:
    from treadle._types.events import AnswerDelta

    url = stage.url(script)
    agent, post_lines = agent_for(url, stream_thoughts=True), line_poster(stage.session, url)

    async def ours() -> tuple[float, float]:
        began, spent, first = time.perf_counter(), time.process_time(), None
        async for event in agent.stream(QUESTION):
            if first is None and isinstance(event, AnswerDelta):
                first = time.perf_counter() - began, time.process_time() - spent
        assert first is not None
        return first

    async def bare() -> tuple[float, float]:
        began, spent, first = time.perf_counter(), time.process_time(), None
        async for _ in bare_stream(post_lines):
            first = first or (time.perf_counter() - began, time.process_time() - spent)
        assert first is not None
        return first

    pairs = [(await ours(), await bare()) for _ in range(5 * stage.repeats)]
    (our_wall, our_cpu), (bare_wall, bare_cpu) = (
        [min(pair[side][kind] for pair in pairs) for kind in (0, 1)] for side in (0, 1)
    )
    return our_cpu / bare_cpu, (our_wall - bare_wall) * 1e3


async def journal(stage: Stage) -> dict[str, float]:
    from treadle._journal.sqlite import SqliteJournal

    url = stage.url("k10")
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteJournal(Path(folder) / "journal.db")
        figure = await ratio(
            times(5, asking(agent_for(url, journal=store))), times(5, asking(agent_for(url))), stage.repeats
        )
        await store.aclose()
    return {"10 steps with a SQLite journal, CPU beside Treadle without": figure}


async def main(url: str, runs: int) -> None:
    agent = agent_for(url)
    await asyncio.gather(*(agent.run(QUESTION) for _ in range(runs)))
    print(peak_memory())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
