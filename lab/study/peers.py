"""The other engines: an environment for each, one model server for all, one child process that does the tasks."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import time
import venv
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from study.rows import CASE_SECONDS, Outcome, Round
from treadle._inspect.evals.checks import RecordedCall

LAB = Path(__file__).resolve().parents[1]
PYTHONPATH = os.pathsep.join((str(LAB.parent / "src"), str(LAB)))
OURS = ("msgspec", "aiohttp", "jsonschema-rs", "json-repair")
PACKAGES = {
    "smolagents": ("smolagents[openai]",),
    "langgraph": ("langchain", "langgraph", "langchain-openai"),
    "pydantic_ai": ("pydantic-ai-slim[openai]",),
}
LOAD_SECONDS = 600.0
LINE = 1 << 24
KILLED = (-2, -9, -15)
Item = TypeVar("Item")
"""A task, or a row of the leaderboard."""


def environment(who: str, folder: Path) -> Path:
    """The Python of a peer's own environment, which is created at the first use."""
    home = folder / who
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ready = home / "ready"
    if not ready.exists():
        uv = shutil.which("uv", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))))
        venv.create(home, clear=True, with_pip=uv is None)
        install = (
            [uv, "pip", "install", "--quiet", "--python", str(python)]
            if uv
            else [str(python), "-m", "pip", "install", "--quiet"]
        )
        subprocess.run([*install, *PACKAGES[who], *OURS], check=True)
        ready.touch()
    return python


@contextlib.asynccontextmanager
async def served(model: str, *options: str) -> AsyncGenerator[str]:
    """Serves the model in another process, and yields the address."""
    paths = {**os.environ, "PYTHONPATH": PYTHONPATH}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "study.serve", model, *options, stdin=PIPE, stdout=PIPE, env=paths
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(LOAD_SECONDS):
            while line := (await process.stdout.readline()).decode().strip():
                if line.startswith("http"):
                    break
        if not line:
            raise RuntimeError("the model server did not start")
        yield line
    finally:
        await _end(process)


async def solve_all(
    tasks: Iterable[Item],
    python: Path,
    who: str,
    model: str,
    address: str,
    *,
    instructions: str = "",
    seconds: float = CASE_SECONDS,
) -> AsyncGenerator[tuple[Item, Outcome]]:
    child: Process | None = None
    try:
        for task in tasks:
            if child is None:
                child = await _start(python, who, model, address, instructions)
            outcome = await _solve(child, task, seconds)
            if outcome.stop in ("timeout", "died"):
                await _end(child)
                if outcome.stop == "died" and child.returncode in KILLED:
                    raise RuntimeError(f"the child of {who} was killed from outside: the task is not counted")
                child = None
            yield task, outcome
    finally:
        if child is not None:
            await _end(child)


async def _start(python: Path, who: str, model: str, address: str, instructions: str) -> Process:
    paths = {**os.environ, "PYTHONPATH": PYTHONPATH, "PYTHONWARNINGS": "ignore"}
    command = [str(python), "-m", "study.peer_child", who, model, address, instructions]
    child = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, env=paths, limit=LINE)
    async with asyncio.timeout(LOAD_SECONDS):
        if (await _receive(child)).get("ready") is None:
            raise RuntimeError(f"the child of {who} did not start")
    return child


async def _solve(child: Process, task: object, seconds: float) -> Outcome:
    """One task. The child reports each call and request at once, so that they count even if it has to be killed."""
    calls: list[RecordedCall] = []
    rounds: list[Round] = []
    first: float | None = None
    assert child.stdin is not None
    child.stdin.write(msgspec.json.encode(task) + b"\n")
    begun = time.monotonic()
    try:
        async with asyncio.timeout(seconds):
            while message := await _receive(child):
                if "call" in message:
                    first = time.monotonic() - begun if first is None else first
                    calls.append(msgspec.convert(message["call"], RecordedCall))
                elif "round" in message:
                    rounds.append(msgspec.convert(message["round"], Round))
                else:
                    done = msgspec.convert(message["done"], Outcome)
                    return msgspec.structs.replace(done, calls=tuple(calls), rounds=tuple(rounds), first_call=first)
        stop, error = "died", "the process ended"
    except TimeoutError:
        stop, error = "timeout", f"stopped after {seconds:g} s"
    return Outcome("", stop, error, tuple(calls), tuple(rounds), time.monotonic() - begun, first_call=first)


async def _receive(child: Process) -> dict[str, Any]:
    assert child.stdout is not None
    line = await child.stdout.readline()
    return msgspec.json.decode(line) if line else {}


async def _end(process: Process) -> None:
    with contextlib.suppress(TimeoutError):
        # If it ends by itself, its exit status says how.
        await asyncio.wait_for(process.wait(), 0.5)
    with contextlib.suppress(ProcessLookupError):
        if process.returncode is None:
            process.kill()
    await process.wait()
