"""The model of this machine when none is named: the larger one of two, where memory and disk have room for it and the
processor is quick enough."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from treadle._local.runtime.cpu_code import is_fast
from treadle._local.runtime.runtime import cores, library
from treadle._local.weights import weights
from treadle._local.weights.files import SPACE_MARGIN
from treadle._types.errors import MissingExtraError, ModelError

SMALLER, LARGER = weights.DEFAULT, "qwen2.5-coder-1.5b"
NEEDED_MEMORY = 4_000_000_000
"""Bytes that have to be free for the larger one: it takes 2.3 GB with its windows, and other programs run beside it."""
NEEDED_CORES, SLOWER = 2, 4
"""Measured with two cores: the first token of the larger one, after a prompt of 441 tokens that it has to read, comes
after 19 s with code for dot-product instructions and after more than 60 s without."""
FIRST_NOTICE = "small_model"
"""The key of the notice below, which a user gets once."""
NOTICE = (
    "a small model on this machine answers: good for short tasks with tools. "
    "For a bigger one set a key such as OPENAI_API_KEY, start a server such as Ollama, or give --model provider:model"
)
_CGROUP = Path("/sys/fs/cgroup")


def default_model() -> str:
    """The name of the model. What was downloaded before is used: nobody waits for a download that is not needed."""
    larger, smaller = (weights.find(name) is not None for name in (LARGER, SMALLER))
    if (smaller and not larger) or not fits(free_memory(), None if larger else free_disk()):
        return SMALLER
    if larger and not smaller:
        return LARGER
    return LARGER if quick(cores(), has_fast_code()) else SMALLER


def quick(cores: int, fast_code: bool) -> bool:
    """Return whether the larger one answers soon enough: with two cores and code for this processor's instructions, or
    with as many as make up for code without them."""
    return cores >= (NEEDED_CORES if fast_code else NEEDED_CORES * SLOWER)


def has_fast_code() -> bool:
    try:
        return is_fast(library())
    except (MissingExtraError, ModelError):  # nothing can run, whatever is named
        return True


def fits(memory: int | None, disk: int | None) -> bool:
    """Return whether there is room for the larger one. What is not known counts as too little; no disk is needed for a
    file that is here (None)."""
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


def install_hints(spec: str) -> list[str]:
    """Return a line about what the named model would be better with and is not installed, if anything."""
    from treadle._local.weights.adapters import missing_adapter

    line = missing_adapter(spec.partition(":")[2].lower())
    return [line] if line else []
