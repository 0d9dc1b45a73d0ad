"""What Treadle adds to a model's time: CPU beside a bare loop that does the same work, in one process, as ratios.

    python benchmarks/overhead.py            # everything, a markdown table
    python benchmarks/overhead.py --short    # the form the tests run

Never absolute times: both sides are measured turn by turn on the same machine, and the least of several is compared.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
from bare import DESCRIPTION, QUESTION, SCHEMA, SYSTEM, WIRE_TOOL, Bare, bare_http, calculator, encode, peak_memory

from treadle import Agent, OpenAIModel, ScriptedModel, Tool

TOOL = Tool("calculator", DESCRIPTION, SCHEMA, calculator, effect="pure")


def agent_for(url: str, **settings: Any) -> Agent:
    model = OpenAIModel("m", base_url=url, api_key="k", abilities={"tool_call": True})
    return Agent(model, [TOOL], system=SYSTEM, max_iterations=1000, **settings)


async def cpu(work: Callable[[], Awaitable[Any]]) -> float:
    began = time.process_time()
    await work()
    return time.process_time() - began


async def ratio(ours: Callable[[], Awaitable[Any]], bare: Callable[[], Awaitable[Any]], repeats: int) -> tuple[float, float, float]:
    """Least CPU of ours and of the bare loop, measured turn by turn, and their ratio."""
    await ours()
    await bare()
    mine, theirs = 9e9, 9e9
    for _ in range(repeats):
        gc.collect()
        theirs = min(theirs, await cpu(bare))
        mine = min(mine, await cpu(ours))
    return mine, theirs, mine / theirs


async def http_rows(base: str, repeats: int) -> dict[str, float]:
    rows: dict[str, float] = {}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1000)) as session:
        for steps, name in ((10, "10 steps over HTTP"), (200, "200 steps over HTTP")):
            url = f"{base}/k{steps}/v1"
            agent, bare = agent_for(url), bare_http(session, url)
            times = 5 if steps == 10 else 1

            async def ours(agent: Agent = agent, times: int = times) -> None:
                for _ in range(times):
                    assert (await agent.run(QUESTION)).answer.startswith("FINAL")

            async def theirs(bare: Bare = bare, times: int = times) -> None:
                for _ in range(times):
                    assert (await bare.run()).startswith("FINAL")

            rows[name] = (await ratio(ours, theirs, repeats))[2]
        url = f"{base}/k10/v1"
        agent, bare = agent_for(url), bare_http(session, url)

        async def many() -> None:
            await asyncio.gather(*(agent.run(QUESTION) for _ in range(200)))

        async def many_bare() -> None:
            await asyncio.gather(*(bare.run() for _ in range(200)))

        rows["200 runs at once"] = (await ratio(many, many_bare, max(2, repeats // 2)))[2]
        rows["memory, 200 runs at once"] = memory_of(url, "overhead.py") / memory_of(url, "bare.py")
        rows["first token, ms later than bare"] = await first_token(session, f"{base}/k1-i5/v1")
        rows.update(await journal_row(url, repeats))
    return rows


async def journal_row(url: str, repeats: int) -> dict[str, float]:
    import tempfile

    from treadle.journal.sqlite import SqliteJournal

    with tempfile.TemporaryDirectory() as folder:
        journal = SqliteJournal(Path(folder) / "journal.db")
        with_journal, without = agent_for(url, journal=journal), agent_for(url)

        async def kept() -> None:
            for _ in range(5):
                await with_journal.run(QUESTION)

        async def free() -> None:
            for _ in range(5):
                await without.run(QUESTION)

        row = (await ratio(kept, free, repeats))[2]
        await journal.aclose()
    return {"10 steps with a SQLite journal, beside Treadle without": row}


def memory_of(url: str, script: str) -> int:
    """The most memory a fresh process had that did nothing but 200 runs at once, in bytes."""
    command = [sys.executable, Path(__file__).with_name(script), *(["--memory"] if script == "overhead.py" else []), url]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


async def only_many(url: str) -> None:
    agent = agent_for(url)
    await asyncio.gather(*(agent.run(QUESTION) for _ in range(200)))
    print(peak_memory())


async def first_token(session: aiohttp.ClientSession, url: str) -> float:
    """Milliseconds by which our first piece of the answer is later than the bare loop's, least of several."""
    from treadle.types.events import TextStreamed

    agent = agent_for(url, stream_thoughts=True)
    body = {"model": "m", "stream": True, "tools": [WIRE_TOOL]}
    headers = {"authorization": "Bearer k", "content-type": "application/json"}

    async def ours() -> float:
        began = time.perf_counter()
        found = 0.0
        async for event in agent.stream(QUESTION):
            if isinstance(event, TextStreamed) and not found:
                found = time.perf_counter() - began
        return found

    async def bare() -> float:
        began = time.perf_counter()
        messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
        found = 0.0
        for step in range(2):
            data = encode({**body, "messages": messages}).encode()
            async with session.post(f"{url}/chat/completions", data=data, headers=headers) as response:
                async for line in response.content:
                    if line.startswith(b"data: {") and b'"content"' in line and not found:
                        json.loads(line[6:])
                        found = time.perf_counter() - began
            if step == 0:
                call = {"id": "call_0", "type": "function", "function": {"name": "calculator", "arguments": '{"expression": "1*7"}'}}
                messages += [
                    {"role": "assistant", "content": None, "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": "call_0", "content": "7"},
                ]
        return found

    mine, theirs = 9e9, 9e9
    for _ in range(15):
        theirs = min(theirs, await bare())
        mine = min(mine, await ours())
    return (mine - theirs) * 1000


async def in_process(repeats: int) -> dict[str, float]:
    """Steps a second with a model that answers at once, and the same loop bare."""
    steps = 10
    replies = [{"name": "calculator", "args": {"expression": f"{n + 1}*7"}, "id": f"call_{n}"} for n in range(steps)]

    async def ours() -> None:
        for _ in range(20):
            await Agent(ScriptedModel([*replies, "FINAL"]), [TOOL], system=SYSTEM).run(QUESTION)

    texts = [
        json.dumps({"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [
            {"id": f"call_{n}", "function": {"name": "calculator", "arguments": json.dumps({"expression": f"{n + 1}*7"})}}]}}]}).encode()
        for n in range(steps)
    ] + [json.dumps({"choices": [{"message": {"role": "assistant", "content": "FINAL"}}]}).encode()]  # fmt: skip

    async def post(body: bytes) -> bytes:
        return texts[body.count(b'"role":"tool"')]

    async def bare() -> None:
        for _ in range(20):
            await Bare(post).run()

    mine, theirs, _ = await ratio(ours, bare, repeats)
    return {"steps a second in process": 20 * steps / mine, "steps a second, bare loop": 20 * steps / theirs}


def import_cpu() -> float:
    code = (
        "import time; t = time.process_time(); import treadle; from treadle import Agent, tool, OpenAIModel; print(time.process_time() - t)"
    )
    return (
        min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(5)) * 1000
    )


def construction() -> float:
    model = ScriptedModel(["x"])
    best = 9e9
    for _ in range(50):
        began = time.perf_counter()
        for _ in range(20):
            Agent(model, [TOOL])
        best = min(best, (time.perf_counter() - began) / 20)
    return best * 1e6


async def measure(repeats: int) -> dict[str, float]:
    server = subprocess.Popen(  # noqa: ASYNC220 - before anything is measured
        [sys.executable, Path(__file__).with_name("loopback.py")], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        base = f"http://127.0.0.1:{int(server.stdout.readline())}"
        rows = await http_rows(base, repeats)
    finally:
        server.kill()
        server.wait()
        if server.stdout:
            server.stdout.close()
    rows.update(await in_process(repeats))
    rows["import, ms of CPU"] = import_cpu()
    rows["agent construction, microseconds"] = construction()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--memory", metavar="URL", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.memory:
        asyncio.run(only_many(args.memory))
        return
    rows = asyncio.run(measure(3 if args.short else 9))
    if args.json:
        print(json.dumps(rows))
        return
    print("| measure | figure |\n|---|---|")
    for name, value in rows.items():
        print(f"| {name} | {value:,.2f} |" if value < 1000 else f"| {name} | {value:,.0f} |")


if __name__ == "__main__":
    main()
