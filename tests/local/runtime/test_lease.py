"""The file and the lock of a model that stays loaded."""

from __future__ import annotations

import os

from treadle._local.runtime import lease as leases
from treadle._local.runtime.lease import Lease


def test_the_lock_is_held_by_one():
    path = leases.leases() / "a.json"
    held = leases.lock(path)
    assert held is not None
    assert leases.lock(path) is None
    os.close(held)
    again = leases.lock(path)
    assert again is not None
    os.close(again)


def test_a_file_that_is_damaged_is_none():
    path = leases.leases() / "a.json"
    assert leases.read(path) is None
    path.write_text("{")
    assert leases.read(path) is None
    leases.grant(path, "http://127.0.0.1:1", "k")
    assert leases.read(path) == Lease("http://127.0.0.1:1", "k")
