"""The processes of a workspace: found by a mark in their environment and by their namespace, held still while the tree
is stored, and killed before it is restored (Linux; elsewhere none is pids).

A process that clears its environment is found by the namespace of processes it shares with a marked one.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

MARK = "TREADLE_WORKSPACE"
_PROC = Path("/proc")
_STOPPED = frozenset("tTZXx")
_MOST_SECONDS = 5.0
"""A process that waits for a disk obeys a signal only then."""


def marked(mark: str) -> list[int]:
    """The processes of the workspace with this mark."""
    if not _PROC.is_dir():
        return []
    wanted, mine, ours = f"{MARK}={mark}".encode(), os.getpid(), _namespace("self")
    pids: list[int] = []
    others: dict[int, str] = {}
    spaces: set[str] = set()
    for name in os.listdir(_PROC):
        if not name.isdigit() or int(name) == mine:
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                ours_too = wanted in file.read().split(b"\0")
        except OSError:  # of somebody else, or gone
            continue
        space = _namespace(name)
        if ours_too:
            pids.append(int(name))
            if space and space != ours:
                spaces.add(space)
        elif space != ours:
            others[int(name)] = space
    return pids + [pid for pid, space in others.items() if space in spaces]


def _namespace(pid: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def _state(pid: int) -> str:
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return "X"
    return text.rpartition(")")[2].split()[0]


def _signal(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


async def kill(mark: str) -> None:
    """Kill the processes of a workspace, and return when none of them is left that could write."""
    until = time.monotonic() + _MOST_SECONDS
    quiet = 0
    while quiet < 2:  # one that is just being replaced by another program has no environment for a moment
        pids = [pid for pid in marked(mark) if _state(pid) not in "ZXx"]
        _signal(pids, signal.SIGKILL)
        quiet = 0 if pids else quiet + 1
        if pids and time.monotonic() > until:
            raise OSError(f"processes of the workspace do not end: {', '.join(map(str, pids))}")
        await asyncio.sleep(0.005)


@asynccontextmanager
async def held(mark: str) -> AsyncGenerator[set[int]]:
    """Hold the processes of a workspace still while the block lasts. Gives the files, by inode, that they have mapped
    so that what they write there leaves no trace."""
    stopped: set[int] = set()
    until = time.monotonic() + _MOST_SECONDS
    try:
        quiet = 0 if mark else 2
        while quiet < 2:  # a child that was born meanwhile; one that had no environment for a moment
            new = [pid for pid in marked(mark) if pid not in stopped]
            _signal(new, signal.SIGSTOP)
            stopped.update(new)
            quiet = 0 if new else quiet + 1 if stopped else 2
            while any(_state(pid) not in _STOPPED for pid in new) and time.monotonic() < until:  # noqa: ASYNC110
                await asyncio.sleep(0.001)  # nobody is told when a process of another parent has stopped
        yield {inode for pid in stopped for inode in _mapped(pid)}
    finally:
        _signal(stopped, signal.SIGCONT)


def _mapped(pid: int) -> list[int]:
    """The inodes of files that a process has mapped shared and writable."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    fields = [line.split(maxsplit=5) for line in lines if " rw-s " in line]
    return [int(line[4]) for line in fields if line[4] != "0"]
