"""Waiting for a condition in another thread or process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

GUARD_SECONDS = 300.0
"""Ends a test that would wait for ever. No test depends on how long something takes."""


def eventually(check: Callable[[], T], what: str, seconds: float = GUARD_SECONDS) -> T:
    """What `check` returns, as soon as that is true."""
    deadline = time.monotonic() + seconds
    while not (result := check()):
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.01)
    return result
