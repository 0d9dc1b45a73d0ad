"""What is going on while there is nothing to show yet: on stderr, at once on a terminal, after a while elsewhere.

It is there before anything large is imported, so it imports nothing large itself.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Self

SILENT_SECONDS = 2.0
"""Where stderr is no terminal, nothing is said about what takes less than this."""
AGAIN_SECONDS = 10.0
_TICK_SECONDS = 0.5


class Notice:
    """One line that says what is being waited for. On a terminal it is erased by `clear`, which may be called often."""

    def __init__(self) -> None:
        self._shown = 0

    def show(self, text: str) -> None:
        """On a terminal only. The cursor goes back to the beginning: what is printed next replaces the line."""
        if is_terminal():
            text = text[: max(10, columns() - 1)]
            gap = " " * (self._shown - len(text))
            self._shown = len(text)
            _write(f"{text}{gap}\r")

    def clear(self) -> None:
        if self._shown:
            _write(" " * self._shown + "\r")
            self._shown = 0


def is_terminal() -> bool:
    return sys.stderr.isatty()


def columns() -> int:
    try:
        return int(os.environ.get("COLUMNS", "")) or os.get_terminal_size(sys.stderr.fileno()).columns
    except (ValueError, OSError):
        return 80


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


notice = Notice()
"""The one line of this process."""


class Waiting:
    """Within `with`, something is waited for that shows nothing itself: `what`, and how long it takes already."""

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        self._what, self._quiet = what, quiet
        self._began = time.monotonic()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if not self._quiet:
            notice.show(f"{self._what} …")
            self._thread = threading.Thread(target=self._say, name="treadle-waiting", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        notice.clear()

    def _say(self) -> None:
        terminal = is_terminal()
        wait = _TICK_SECONDS if terminal else SILENT_SECONDS
        while not self._over.wait(wait):
            took = int(time.monotonic() - self._began)
            if terminal:
                notice.show(f"{self._what} … {took} s")
            else:
                wait = AGAIN_SECONDS
                _write(f"{self._what}{f' ({took} s so far)' if took else ''}\n")
