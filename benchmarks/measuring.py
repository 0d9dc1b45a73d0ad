"""How the scripts measure: both sides in turn in one process, and the smallest of several results counts."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
Work = Callable[[], Awaitable[Any]]


async def cpu(work: Work) -> float:
    began = time.process_time()
    await work()
    return time.process_time() - began


async def least_cpu(ours: Work, bare: Work, repeats: int) -> tuple[float, float]:
    """The smallest CPU seconds of ours and of the bare loop: larger ones measure other programs on the machine."""
    await ours()
    await bare()
    mine, theirs = 9e9, 9e9
    for _ in range(repeats):
        gc.collect()
        theirs = min(theirs, await cpu(bare))
        mine = min(mine, await cpu(ours))
    return mine, theirs


async def ratio(ours: Work, bare: Work, repeats: int) -> float:
    mine, theirs = await least_cpu(ours, bare, repeats)
    return mine / theirs


def times(count: int, work: Work) -> Work:
    async def repeated() -> None:
        for _ in range(count):
            await work()

    return repeated


@functools.cache
def compiled() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def fresh_process(*arguments: object) -> float:
    """The number that a script or `-c` code prints in a new interpreter.

    From the second call on nothing has to be compiled, whatever the environment says about compiled files.
    """
    env = {**os.environ, "PYTHONPYCACHEPREFIX": compiled().name}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, *(str(argument) for argument in arguments)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout)


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """Runs the loopback server, and yields its address."""
    server = subprocess.Popen([sys.executable, HERE / "loopback.py"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
