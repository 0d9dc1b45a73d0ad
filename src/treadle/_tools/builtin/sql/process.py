"""A database whose queries run in a worker process: kept between queries, killed when one takes too long."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import weakref
from contextlib import suppress
from typing import cast

import msgspec

from treadle._python_process import SAFE_FOLDER, module_command
from treadle._tools.builtin.sql.rows import Rows, Schema
from treadle._tools.builtin.sql.worker import GRACE_SECONDS, Answer, Question, Source, open_database
from treadle._types.errors import ToolError

_MAX_IDLE = 2
_START_SECONDS = 60.0
_ALARM = getattr(signal, "SIGALRM", -1)
"""The worker's own time limit: it is faster where this process is very busy."""


class WorkerDatabase:
    """The queries of several threads run at the same time, each in a process of its own.

    The processes that wait for the next query end with this object, and with this process, however that ends.
    """

    def __init__(self, source: Source) -> None:
        self.dialect = open_database(source).dialect  # also says when a package is missing
        self._source = source
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._owner = os.getpid()
        weakref.finalize(self, _close_all, self._idle)

    def query(self, query: str) -> Rows:
        return cast("Rows", self._ask(Question("query", query)).rows)

    def schema(self, table: str = "") -> Schema:
        return cast("Schema", self._ask(Question("schema", table)).schema)

    def _ask(self, question: Question) -> Answer:
        worker = self._take() or _Worker(self._source)
        answer = worker.ask(question)
        if answer.last or not self._keep(worker):
            worker.close()
        if answer.error:
            raise ToolError(answer.error)
        return answer

    def _take(self) -> _Worker | None:
        with self._lock:
            if self._owner != os.getpid():  # after a fork they are the parent's
                self._owner = os.getpid()
                self._idle.clear()
            while self._idle:
                worker = self._idle.pop()
                if worker.alive:
                    return worker
                worker.close()
            return None

    def _keep(self, worker: _Worker) -> bool:
        with self._lock:
            if len(self._idle) < _MAX_IDLE:
                self._idle.append(worker)
                return True
            return False


class _Worker:
    def __init__(self, source: Source) -> None:
        self._limits = source.limits
        self._process = subprocess.Popen(
            module_command("treadle._tools.builtin.sql.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Files below allowed folders may be named from where the user is.
            cwd=None if source.allow_folders else SAFE_FOLDER,
        )
        # Its start does not count as time of a query.
        line, _ = self._exchange(msgspec.json.encode(source), _START_SECONDS)
        if line != b"\n":
            self.close()
            raise ToolError(f"the database's process did not start (status {self._process.returncode})")

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, question: Question) -> Answer:
        line, late = self._exchange(msgspec.json.encode(question), self._limits.timeout + GRACE_SECONDS)
        if line.endswith(b"\n"):
            return msgspec.json.decode(line, type=Answer)
        error = self._limits.too_slow if late or self._process.wait() == -_ALARM else self._died()
        if not self._limits.read_only:
            error += ". It may have changed data before it was stopped: look before you repeat it"
        return Answer(error=error, last=True)

    def _exchange(self, line: bytes, seconds: float) -> tuple[bytes, bool]:
        """The line that comes back, and whether the process was killed because it did not come in time."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        late = threading.Event()

        def kill() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(seconds, kill)
        timer.daemon = True
        timer.start()
        try:
            with suppress(OSError):
                self._process.stdin.write(line + b"\n")
                self._process.stdin.flush()
            return self._process.stdout.readline(), late.is_set()
        finally:
            timer.cancel()

    def _died(self) -> str:
        status = self._process.wait()
        how = f"signal {-status}" if status < 0 else f"status {status}"
        return (
            f"the query was stopped: its process ended ({how}), most likely because it needed more than "
            f"{self._limits.memory // 2**20} MB of memory: ask for fewer or smaller values"
        )

    def close(self) -> None:
        """It is between two queries, or has failed: there is nothing to wait for."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def _close_all(workers: list[_Worker]) -> None:
    while workers:
        workers.pop().close()
