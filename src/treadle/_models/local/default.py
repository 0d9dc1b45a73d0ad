"""The model of this machine when none is named: the larger one of two, where memory and disk have room for it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from treadle._models.local import weights
from treadle._models.local.files import SPACE_MARGIN

SMALLER, LARGER = weights.DEFAULT, "qwen2.5-coder-1.5b"
NEEDED_MEMORY = 4_000_000_000
"""Bytes that have to be free for the larger one: it takes 2.3 GB with its windows, and other programs run beside it."""
_CGROUP = Path("/sys/fs/cgroup")


def default_model() -> str:
    """The name of the model. What was downloaded before is used: nobody waits for a download that is not needed."""
    if weights.find(LARGER) is not None:
        here = True
    elif weights.find(SMALLER) is not None:
        return SMALLER
    else:
        here = False
    return LARGER if fits(free_memory(), None if here else free_disk()) else SMALLER


def fits(memory: int | None, disk: int | None) -> bool:
    """Whether there is room for the larger one. What is not known counts as too little; no disk is needed for a file
    that is here (None)."""
    size = weights.catalogue_entry(LARGER).size
    return memory is not None and memory >= NEEDED_MEMORY and (disk is None or disk >= 2 * size + SPACE_MARGIN)


def free_disk() -> int:
    """Bytes that are free where models are kept; the folder may not be there yet."""
    folder = weights.models_folder()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free


def free_memory(meminfo: Path = Path("/proc/meminfo"), cgroup: Path = _CGROUP) -> int | None:
    """Bytes that a new program can use, also inside a container with less than its machine has; None: not known."""
    found = [_available(meminfo), _left_in(cgroup)]
    return min((count for count in found if count is not None), default=_physical())


def _available(meminfo: Path) -> int | None:
    try:
        lines = meminfo.read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def _left_in(cgroup: Path) -> int | None:
    try:
        limit, used = ((cgroup / name).read_text() for name in ("memory.max", "memory.current"))
        return max(0, int(limit) - int(used))
    except (OSError, ValueError):  # no group, or no limit
        return None


def _physical() -> int | None:
    """Half of all memory, where only that is told."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return None
