"""One HTTP exchange that the proxy passes on, with as much of its contents as the bounds allow."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

MAX_STORED = 16 * 1024 * 1024
"""Bytes of one exchange that are stored; a larger one is passed on all the same, and not recorded."""
MAX_WAITING = 192 * 1024 * 1024
"""Bytes of all exchanges under way or waiting to be recorded."""
PATIENCE = 10.0
"""Seconds without anything being written after which the end of a recording is not waited for any longer."""
_MAX_MARKS = 4096

Ending = Literal["open", "complete", "cut", "cancelled", "unreachable", "refused"]
"""complete; cut: the server's connection ended early; cancelled: the client went away."""


def wait_while_moving(
    join: Callable[[float], object],
    is_alive: Callable[[], bool],
    left: Callable[[], int],
    seconds: float,
    patience: float,
) -> bool:
    """Wait for the end of something while it makes progress (`left` counts what is left to do); True if it ended."""
    deadline, before = time.monotonic() + seconds, -1
    while is_alive() and (now := left()) != before and (rest := deadline - time.monotonic()) > 0:
        before = now
        join(min(patience, rest))
    return not is_alive()


class Memory:
    """Counts the bytes that all exchanges hold."""

    def __init__(self, limit: int = MAX_WAITING) -> None:
        self.limit = limit
        self.held = 0
        self.most = 0

    def take(self, size: int) -> bool:
        if self.held + size > self.limit:
            return False
        self.held += size
        self.most = max(self.most, self.held)
        return True

    def give(self, size: int) -> None:
        self.held -= size


class HttpExchange:
    """A request and its response. Request headers and the query are not stored: both carry keys. Their secrets are
    stored apart, so that they can be taken out of the bodies."""

    def __init__(self, memory: Memory, *, upstream: str, method: str, path: str, secrets: tuple[str, ...] = ()) -> None:
        self._memory = memory
        self._held = 0
        self.upstream = upstream
        """The address of the server."""
        self.method = method
        self.path = path
        """At the server, without its query."""
        self.secrets = secrets
        self.request_encoding = ""
        self.began = time.time()
        self.clock = time.perf_counter()
        self.status = 0
        self.headers: dict[str, str] = {}
        """Of the response, by name in lower case."""
        self.sent: list[bytes] = []
        self.received: list[bytes] = []
        self.marks: list[tuple[int, float]] = []
        """How many bytes of the response had come after so many seconds."""
        self.received_bytes = 0
        self.ending: Ending = "open"
        self.elapsed = 0.0
        self.not_stored = ""
        """Why the contents are missing; empty when they are whole."""

    def keep_request(self, data: bytes) -> None:
        if self._keep(len(data)):
            self.sent.append(data)

    def keep_response(self, data: bytes) -> None:
        self.received_bytes += len(data)
        if self._keep(len(data)):
            self.received.append(data)
            if len(self.marks) < _MAX_MARKS:
                self.marks.append((self.received_bytes, time.perf_counter() - self.clock))

    def end(self, ending: Ending) -> None:
        if self.ending == "open":
            self.ending = ending
            self.elapsed = time.perf_counter() - self.clock

    def forget(self) -> None:
        """Let go of the contents."""
        self.sent, self.received, self.marks = [], [], []
        self._memory.give(self._held)
        self._held = 0

    def _keep(self, size: int) -> bool:
        if self.not_stored:
            return False
        if self._held + size > MAX_STORED:
            self.not_stored = f"it is larger than {MAX_STORED // 2**20} MiB"
        elif not self._memory.take(size):
            self.not_stored = "too much waited to be recorded"
        else:
            self._held += size
            return True
        self.forget()
        return False
