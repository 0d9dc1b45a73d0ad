"""Child processes: whether one runs, and signals that do not depend on how the tests were started."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


def is_running(pid: int) -> bool:
    """Neither gone nor waiting for its parent to ask; it may go between two looks at it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@contextmanager
def interruptible() -> Generator[None]:
    """Children started within get the default SIGINT, also where the tests run in the background and ignore it.

    A handler is not inherited by a program that is executed; "ignored" is.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def uninterruptible() -> Generator[None]:
    """Children started within ignore SIGINT from their start, as jobs in the background of a script do."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
