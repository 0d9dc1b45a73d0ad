"""The proxy's side of the recorder: a thread that sends exchanges to the worker process, and notices when that ends."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable
from queue import SimpleQueue

from treadle._python_process import SAFE_FOLDER, module_command
from treadle._record.exchange import HttpExchange, wait_while_moving
from treadle._record.worker import MODULE, End, Recording, frame_of, write_frame


class RecorderProcess:
    """Takes exchanges from the proxy; never blocks it, and never fails."""

    def __init__(self, recording: Recording, say: Callable[[str], None]) -> None:
        self.lost = 0
        """Exchanges that passed after the worker had ended."""
        self._say = say
        self._queue: SimpleQueue[HttpExchange | None] = SimpleQueue()
        self._worker = subprocess.Popen(module_command(MODULE), stdin=subprocess.PIPE, cwd=SAFE_FOLDER)
        self._recording = recording
        self._thread = threading.Thread(target=self._send, name="treadle-record", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        return self._worker.pid

    def __call__(self, exchange: HttpExchange) -> None:
        self._queue.put(exchange)

    def close(self, seconds: float = 90.0) -> None:
        """Have everything written down, and stop."""
        self._queue.put(None)
        patience = self._recording.patience
        sent = wait_while_moving(self._thread.join, self._thread.is_alive, self._queue.qsize, seconds, patience)
        try:
            self._worker.wait(seconds if sent else 0.0)
        except subprocess.TimeoutExpired:
            self._worker.kill()
            self._worker.wait()
            self._thread.join(patience)  # it notices, and counts what is left
            self._say("the last exchanges could not be written in time. Does another process hold the journal?")
        if self.lost:
            self._say(f"exchanges that were passed on but not recorded: {self.lost}, because the recorder had ended")

    def _send(self) -> None:
        pipe = self._worker.stdin
        assert pipe is not None
        alive = self._try(lambda: write_frame(pipe, self._recording))
        while (exchange := self._queue.get()) is not None:
            frame = frame_of(exchange)
            if alive and not self._try(lambda frame=frame: write_frame(pipe, frame)):
                alive = False
                self._say("the recorder has ended: nothing more is recorded. The program is not affected")
            self.lost += not alive
            exchange.forget()
        if alive:
            self._try(lambda: write_frame(pipe, End()))
        self._try(pipe.close)

    def _try(self, work: Callable[[], None]) -> bool:
        try:
            work()
        except (OSError, ValueError):
            return False
        return True
