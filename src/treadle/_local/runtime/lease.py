"""Who may use a model that stays loaded, and for how long: a file with its address, and a lock beside it.

Whoever uses the model holds the lock; the file is read and removed under the lock only. So a model serves one process
at a time, and one that is about to end is not taken.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import msgspec
from msgspec import Struct

try:
    import fcntl
except ImportError:  # Windows has no such locks: there a model ends with the process that loaded it
    fcntl = None

from treadle._types.paths import state_folder, write_private

LOOK_SECONDS = 1.0
"""How often the worker looks whether it is still wanted."""
_PROBE_SECONDS = 0.2
"""For so long another process may hold the lock only to look."""


class Lease(Struct, frozen=True):
    address: str
    key: str


def leases() -> Path:
    """The folder of the files, for this user alone."""
    folder = state_folder() / "warm"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def lock(lease: Path, wait: float = _PROBE_SECONDS) -> int | None:
    """Take the lock of a lease: the descriptor that holds it, or None where somebody else does."""
    if fcntl is None:
        return None
    descriptor = os.open(lease.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except OSError:
            if time.monotonic() >= deadline:
                os.close(descriptor)
                return None
            time.sleep(0.02)


def read(lease: Path) -> Lease | None:
    try:
        return msgspec.json.decode(lease.read_bytes(), type=Lease)
    except (OSError, msgspec.DecodeError):
        return None


def grant(lease: Path, address: str, key: str) -> None:
    write_private(lease, msgspec.json.encode(Lease(address, key)))


def wait_until_idle(lease: Path, idle: float) -> None:
    """Return when nobody has used the model for so many seconds, or the file is gone."""
    used = time.monotonic()
    while lease.exists():
        time.sleep(min(LOOK_SECONDS, idle))
        descriptor = lock(lease, 0.0)
        if descriptor is None:
            used = time.monotonic()
            continue
        if time.monotonic() - used >= idle:
            with contextlib.suppress(OSError):
                lease.unlink()
        os.close(descriptor)


def end_all() -> int:
    """End every model that stays loaded and is not in use; how many there were."""
    count = 0
    for lease in leases().glob("*.json"):
        if (descriptor := lock(lease)) is not None:
            with contextlib.suppress(OSError):
                lease.unlink()
                count += 1
            os.close(descriptor)
    return count
