"""Measures a process and all that it started. A limit of the kernel (RLIMIT) holds for one process only."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class TreeUse(Struct, frozen=True):
    memory: int
    processes: int
    """Threads count too: each takes a slot in the kernel's table."""
    files: int = 0
    """In the scratch folders. Even empty ones take memory, which their size does not limit."""


def measure(root: int, enough: int = 0, scratch: tuple[str, ...] = ()) -> TreeUse:
    """Measure what the process `root` and its descendants use. Memory is exact only where it is more than `enough`.

    Pages that several processes share count once for each in the quick sum, and in parts in the exact one.
    """
    pids = descendants(root)
    resident = [_resident(pid) for pid in pids]
    if sum(resident) > enough:
        resident = [_proportional(pid) for pid in pids]
    # In the file systems that the innermost process has as these folders, where they are not ours.
    files = sum(_own_files(f"/proc/{pids[-1]}/root", folder) for folder in scratch)
    return TreeUse(sum(resident), sum(_threads(pid) for pid in pids), files)


def descendants(root: int) -> list[int]:
    """Processes whose parent has ended stay in the tree: the first process of their namespace adopts them."""
    children = _children if os.path.exists(f"/proc/{root}/task/{root}/children") else _all_children().get
    pids = [root]
    for pid in pids:  # grows while it is read
        pids += children(pid) or []
    return pids


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        threads = os.listdir(f"/proc/{pid}/task")
        return [int(child) for thread in threads for child in _read(f"/proc/{pid}/task/{thread}/children").split()]
    return []


def _all_children() -> dict[int, list[int]]:
    """The children of every process, for kernels that do not list them by parent."""
    children: dict[int, list[int]] = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
        if len(fields) > 1:
            children.setdefault(int(fields[1]), []).append(int(pid))
    return children


def _resident(pid: int) -> int:
    fields = _read(f"/proc/{pid}/statm").split()
    return int(fields[1]) * _PAGE if len(fields) > 1 else 0


def _proportional(pid: int) -> int:
    """The memory with shared pages divided by those who share them, where the kernel tells; nothing if it has ended."""
    for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return _resident(pid)


def _threads(pid: int) -> int:
    with suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/task"))
    return 0


def _own_files(root: str, folder: str) -> int:
    with suppress(OSError):  # the process has ended, or has no such folder yet
        if _device(root + folder) != _device(folder):  # until it has a root of its own, it sees the folders we see
            state = os.statvfs(root + folder)
            return state.f_files - state.f_ffree
    return 0


def _device(folder: str) -> int:
    return os.stat(folder).st_dev if os.path.isdir(folder) else -1


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except OSError:  # it has ended
        return ""
