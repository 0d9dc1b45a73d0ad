"""The server under load: `python benchmarks/sse_load.py`.

500 runs at the same time, each with two tool calls and a streamed answer, each followed over its own connection. Then a
server with 10 000 conversations in its journal that nobody follows. Prints events per second, the delay between the
recording of an event and its arrival (of those recorded while a client followed), lost events (there must be none), and
the memory of the server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

PIECES = 40
PAUSE = 0.05


def agent() -> Any:
    from treadle import Agent, ScriptedModel, tool
    from treadle._types.messages import ToolMessage

    class Paced(ScriptedModel):
        async def stream(self, request: Any) -> AsyncIterator[Any]:
            async for part in super().stream(request):
                await asyncio.sleep(PAUSE)
                yield part

    def script(request: Any) -> Any:
        if request.component == "synthesis":
            return "words and " * PIECES
        results = sum(isinstance(message, ToolMessage) for message in request.messages)
        return {"name": "look", "args": {"number": results}} if results < 2 else "brief"

    @tool(effect="pure")
    async def look(number: int) -> str:
        """Look something up."""
        await asyncio.sleep(PAUSE * 4)
        return f"result {number} " + "x" * 200

    return Agent(Paced(script, chunk=10), tools=[look], answer="synthesize")


def serve(journal: str) -> None:
    from treadle._server import ServerSettings, serve

    settings = ServerSettings(
        max_runs=5000,
        max_runs_per_user=5000,
        max_streams=5000,
        max_streams_per_user=5000,
        requests_per_second=1e6,
        request_burst=1_000_000,
    )
    serve({"demo": agent()}, journal, port=0, settings=settings, on_ready=lambda address: print(address, flush=True))


class Server:
    """The server, in its own process."""

    def __init__(self, journal: str) -> None:
        self.journal = journal

    async def __aenter__(self) -> Server:
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, __file__, "--serve", self.journal, stdout=asyncio.subprocess.PIPE
        )
        assert self.process.stdout is not None
        self.address = (await self.process.stdout.readline()).decode().strip()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.process.terminate()
        await self.process.wait()

    @property
    def megabytes(self) -> float:
        """Resident memory, where the system tells."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return float("nan")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    @property
    def cpu(self) -> float:
        """Seconds of CPU time so far, where the system tells: it does not depend on other programs."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return float("nan")
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def follow(session: Any, address: str, arrivals: dict[str, list[tuple[str, str, float]]]) -> str:
    async with session.post(f"{address}/api/runs", json={"question": "?"}) as response:
        assert response.status == 201, await response.text()
        run: str = (await response.json())["run_id"]
    seen = arrivals[run] = []
    name = position = ""
    async with session.get(f"{address}/api/runs/{run}/events") as response:
        seen.append(("opened", "", time.time()))
        async for raw in response.content:
            line = raw.decode().rstrip("\n")
            if line.startswith("id: "):
                position = line[4:]
            elif line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                seen.append((position, name, time.time()))
    return run


async def read_again(session: Any, address: str, run: str) -> tuple[list[str], dict[str, float]]:
    """The ids of a finished run's events (text aside), and when its records were made."""
    async with session.get(f"{address}/api/runs/{run}/events") as response:
        ids = [line[4:] for line in (await response.text()).splitlines() if line.startswith("id: ")]
    async with session.get(f"{address}/api/runs/{run}/records?limit=1000") as response:
        times = {str(record["seq"]): record["time"] for record in (await response.json())["records"]}
    return ids, times


def stored(ids: list[str]) -> list[str]:
    return [position for position in ids if "." not in position or position.endswith(".0")]


async def many_runs(count: int, folder: str) -> dict[str, Any]:
    import aiohttp

    arrivals: dict[str, list[tuple[str, str, float]]] = {}
    timeout = aiohttp.ClientTimeout(total=None)
    async with (
        Server(f"{folder}/load.db") as server,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session,
    ):
        before, spent = server.megabytes, server.cpu
        began = time.perf_counter()
        runs = [asyncio.ensure_future(follow(session, server.address, arrivals)) for _ in range(count)]
        most = at_once = 0.0
        while not all(run.done() for run in runs):
            await asyncio.sleep(0.25)
            most = max(most, server.megabytes)
            async with session.get(f"{server.address}/health") as response:
                at_once = max(at_once, (await response.json())["streams"])
        await asyncio.gather(*runs)
        took, spent = time.perf_counter() - began, server.cpu - spent
        lost, delays = 0, []
        for run, seen in arrivals.items():
            ids, times = await read_again(session, server.address, run)
            opened = seen.pop(0)[2]
            positions = [position for position, _, _ in seen]
            lost += stored(positions) != stored(ids) or len(set(positions)) != len(positions) or seen[-1][1] != "done"
            delays += [arrived - times[position] for position, _, arrived in seen if times.get(position, 0) > opened]
        delays.sort()
        events = sum(map(len, arrivals.values()))
        return {
            "runs": count,
            "followed at once": at_once,
            "seconds": round(took, 2),
            "events": events,
            "events a second": round(events / took),
            "server CPU seconds": round(spent, 1),
            "events a CPU second": round(events / spent),
            "runs with a lost or doubled event": lost,
            "delay ms, median": round(1000 * delays[len(delays) // 2], 1),
            "delay ms, p99": round(1000 * delays[int(len(delays) * 0.99)], 1),
            "server MB before, at most": [round(before), round(most)],
        }


async def idle_conversations(count: int, folder: str) -> dict[str, Any]:
    import aiohttp

    from treadle._journal import open_journal
    from treadle._types.events import AnswerDone, AnswerStarted, Record, RunFinished, RunStarted

    path = f"{folder}/idle.db"
    journal = open_journal(path)
    for number in range(count):
        run = f"idle-{number:08}"
        events = [
            RunStarted(f"Question {number}", "demo", conversation=run),
            AnswerStarted("loop"),
            AnswerDone("x" * 500, "loop"),
            RunFinished("answer", "x" * 500),
        ]
        await journal.append([Record(run, seq, 1.0 * number, event) for seq, event in enumerate(events)])
    await journal.aclose()
    sizes: dict[str, float] = {}
    listed = 0.0
    for name, place in (("empty journal", f"{folder}/empty.db"), (f"{count} conversations", path)):
        async with Server(place) as server, aiohttp.ClientSession() as session:
            for _ in range(20):
                began = time.perf_counter()
                async with session.get(f"{server.address}/api/conversations?limit=200") as response:
                    await response.read()
                listed = time.perf_counter() - began
            sizes[name] = round(server.megabytes, 1)
    return {"server MB": sizes, "list of 200, ms": round(1000 * listed, 1), "journal MB": round(_size(path) / 1e6, 1)}


def _size(path: str) -> int:
    return Path(path).stat().st_size


async def main(runs: int, conversations: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(await many_runs(runs, folder), indent=2))
        if conversations:
            print(json.dumps(await idle_conversations(conversations, folder), indent=2))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--conversations", type=int, default=10_000)
    parser.add_argument("--serve", metavar="JOURNAL", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve)
    else:
        asyncio.run(main(given.runs, given.conversations))
