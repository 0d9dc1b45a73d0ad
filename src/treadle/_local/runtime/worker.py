"""A model in a process of its own: loading it does not block this one, and a crash ends only a request."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys

import msgspec
from msgspec import Struct

from treadle._local.runtime.runtime import ORIGIN, OnChunk, Options, Runtime, serve
from treadle._models.transport.failures import connection_lost
from treadle._python_process import SAFE_FOLDER, module_command
from treadle._types.errors import ModelError, TreadleError


class _Order(Struct, frozen=True):
    """The first line of the worker's input."""

    options: Options
    key: str


class _Ready(Struct, frozen=True):
    """The first line of the worker's output."""

    address: str = ""
    error: str = ""


class Isolated(Runtime):
    """The model in a worker process, reached at its loopback port."""

    def __init__(self, options: Options) -> None:
        key = secrets.token_urlsafe(24)
        self._process = _start()
        ready = self._order(_Order(options, key))
        if ready.error:
            self.close()
            raise ModelError(ready.error, provider="local")
        super().__init__(options, ready.address, key)

    @property
    def alive(self) -> bool:
        return not self._broken and self._process.poll() is None

    def complete(self, body: bytes, on_chunk: OnChunk) -> None:
        self._stream("/v1/completions", body, on_chunk)

    def chat(self, body: bytes, on_chunk: OnChunk) -> None:
        self._stream("/v1/chat/completions", body, on_chunk)

    def close(self) -> None:
        # The worker ends when its input does, so it also ends when this process is killed.
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __del__(self) -> None:
        if hasattr(self, "_process"):
            self.close()

    def _order(self, order: _Order) -> _Ready:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(msgspec.json.encode(order) + b"\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            return _Ready(
                error="local: the model's process died while it loaded the model; check that there is enough memory"
            )
        return msgspec.json.decode(line, type=_Ready)

    def _stream(self, path: str, body: bytes, on_chunk: OnChunk) -> None:
        # Returning early closes the connection, which stops the model. No time-out: a process that dies closes it too.
        with self._posted(path, body, timeout=None) as response:
            for line in response:
                if line.startswith(b"data: ") and (line.startswith(b"data: [DONE]") or on_chunk(line[6:])):
                    return
        self._broken = True
        raise connection_lost(ORIGIN, "the runtime closed the connection in the middle of a reply")


def _start() -> subprocess.Popen[bytes]:
    command = module_command("treadle._local.runtime.worker")
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=SAFE_FOLDER)


def main() -> None:
    """The worker process: load the model that the first line of input names, then serve until the input ends."""
    # Ctrl-C reaches all processes of the group; the parent decides whether the model is still needed.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = sys.stdout.buffer
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=_Order)
    try:
        server = serve(order.options, order.key)
        ready = _Ready(address=str(server.listening_address))
    except TreadleError as error:
        server, ready = None, _Ready(error=str(error))
    with contextlib.suppress(OSError):
        out.write(msgspec.json.encode(ready) + b"\n")
        out.flush()
        if server is not None:
            sys.stdin.buffer.read()
            # Nobody waits for what is being evaluated, and the end of the server would.
            os._exit(0)


if __name__ == "__main__":
    main()
