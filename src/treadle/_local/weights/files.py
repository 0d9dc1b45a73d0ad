"""Helpers for large files: a lock between processes, a progress bar, a check of the free disk space."""

from __future__ import annotations

import contextlib
import hashlib
import lzma
import os
import secrets
import shutil
import sys
import threading
import time
from collections.abc import Generator
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TextIO

from treadle._types.errors import ModelError
from treadle._types.paths import write_private

HEARTBEAT_SECONDS = 1.0
STALE_SECONDS = 8.0
"""A lock that was not touched for so many seconds was left behind by a dead process."""
SPACE_MARGIN = 64 * 1024 * 1024


@contextlib.contextmanager
def locked(path: Path, *, stale: float = STALE_SECONDS) -> Generator[None]:
    """Hold `path` as a lock: one process at a time. The lock of a process that died is taken over."""
    token = secrets.token_hex(8)
    _acquire(path, token, stale)
    done = threading.Event()
    heartbeat = threading.Thread(target=_keep_touching, args=(path, done), name="treadle-lock", daemon=True)
    heartbeat.start()
    try:
        yield
    finally:
        done.set()
        heartbeat.join()
        if _token(path) == token:
            path.unlink(missing_ok=True)


def _keep_touching(path: Path, done: threading.Event) -> None:
    while not done.wait(HEARTBEAT_SECONDS):
        with contextlib.suppress(OSError):
            os.utime(path)


def _acquire(path: Path, token: str, stale: float) -> None:
    seen: tuple[str, float] | None = None
    since = time.monotonic()
    while not _create(path, token):
        with contextlib.suppress(OSError):
            # Clocks of two machines differ and laptops sleep: only a lock that did not change while this process
            # watched it is dead.
            current = (_token(path), path.stat().st_mtime)
            if current != seen:
                seen, since = current, time.monotonic()
            elif time.monotonic() - since > stale:
                _remove_dead(path, current[0])
        time.sleep(0.1)


def _create(path: Path, token: str) -> bool:
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except (FileExistsError, PermissionError):
        # Windows raises a permission error while another process deletes the file.
        if not path.exists() and not os.access(path.parent, os.W_OK):
            raise
        return False
    with os.fdopen(handle, "w") as file:
        file.write(token)
    return True


def _token(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""


def _remove_dead(path: Path, token: str) -> None:
    # Renaming succeeds for only one of the waiting processes; a new lock renamed by mistake is put back.
    aside = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    path.rename(aside)
    if _token(aside) != token and not path.exists():
        aside.rename(path)
    else:
        aside.unlink(missing_ok=True)


def is_whole(path: Path, sha256: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256


def unpack(packed: Traversable, path: Path, sha256: str) -> None:
    """Write what a compressed file of a package has in it to a path of the cache; an `OSError` or `LZMAError` where it
    has not what it should."""
    content = lzma.decompress(packed.read_bytes())
    if hashlib.sha256(content).hexdigest() != sha256:
        raise OSError("its contents have changed")
    write_private(path, content)  # whole or not there, whoever else unpacks it at the same time


def require_space(folder: Path, size: int) -> None:
    """Raise an error when `size` bytes will not fit, before anything is written."""
    free = shutil.disk_usage(folder).free
    if free < size + SPACE_MARGIN:
        raise ModelError(
            f"{folder} has {megabytes(free)} free and {megabytes(size + SPACE_MARGIN)} are needed: "
            "free some space, or set TREADLE_CACHE to a folder on a larger disk",
            provider="local",
        )


def megabytes(count: float) -> str:
    return f"{count / 1e6:.0f} MB"


class Progress:
    """A progress bar on a terminal; elsewhere a line for every ten percent."""

    def __init__(self, label: str, total: int, *, quiet: bool = False) -> None:
        self._label = label
        self._total = max(total, 1)
        # A program without a console has no stderr at all.
        self._out: TextIO | None = None if quiet else sys.stderr
        self._bar = self._out is not None and self._out.isatty()
        self._shown = -1
        self._next = 0.0
        self._begun = time.monotonic()
        self._first: int | None = None

    def at(self, done: int) -> None:
        """Report that `done` of all bytes are there."""
        if self._first is None:
            self._first = done
        percent = min(100, done * 100 // self._total)
        now = time.monotonic()
        if self._bar:
            if now >= self._next or percent == 100:
                self._next = now + 0.1
                self._write(f"\r{self._line(done, percent, now)}")
        elif percent // 10 > self._shown // 10:
            self._shown = percent
            self._write(f"{self._label}: {percent} % of {megabytes(self._total)}\n")

    def close(self) -> None:
        if self._bar:
            self._write("\n")

    def _line(self, done: int, percent: int, now: float) -> str:
        speed = (done - (self._first or 0)) / max(now - self._begun, 0.01)
        filled = percent * 24 // 100
        left = f" {(self._total - done) / speed:4.0f} s left" if speed > 1e4 and done < self._total else " " * 12
        bar = "#" * filled + "-" * (24 - filled)
        return f"{self._label} [{bar}] {percent:3d} % of {megabytes(self._total)} {speed / 1e6:5.1f} MB/s{left}"

    def _write(self, text: str) -> None:
        if self._out is None:
            return
        # A terminal that was closed must not stop a download.
        with contextlib.suppress(OSError, ValueError):
            self._out.write(text)
            self._out.flush()
