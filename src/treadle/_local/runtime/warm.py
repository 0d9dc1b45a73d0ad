"""A model that stays loaded for some minutes after the process that asked for it: the next one begins at once.

It is a worker like that of `Isolated`, which ends by itself when nobody has used it for a while (`lease.py`).
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

import msgspec

from treadle._local.runtime import lease as leases
from treadle._local.runtime.lease import Lease
from treadle._local.runtime.runtime import Options, answers
from treadle._local.runtime.worker import Order, Remote, end, start
from treadle._version import __version__


class Warm(Remote):
    """A model that stays loaded, for as long as this process holds its lock."""

    def __init__(self, options: Options, lease: Lease, lock: int) -> None:
        self._lock: int | None = lock
        super().__init__(options, lease.address, lease.key)

    @property
    def alive(self) -> bool:
        return not self._broken and self._lock is not None

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def attach(options: Options) -> Warm | None:
    """The model of an earlier process, or one that is loaded now and stays; None where another process uses it, or none
    can stay."""
    try:
        path = _path(options)
        lock = leases.lock(path)
    except OSError:  # nothing can be written there
        return None
    if lock is None:
        return None
    try:
        lease = leases.read(path)
        if lease is None or not answers(lease.address, lease.key):
            key = secrets.token_urlsafe(24)
            process, address = start(Order(options, key, str(path), options.warm_seconds))
            end(process)  # the one that loaded the model is its child
            lease = Lease(address, key)
        return Warm(options, lease, lock)
    except BaseException:
        os.close(lock)
        raise


def _path(options: Options) -> Path:
    name = hashlib.sha256(msgspec.json.encode((options, __version__))).hexdigest()[:16]
    return leases.leases() / f"{name}.json"
