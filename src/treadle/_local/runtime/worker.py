"""A model in a process of its own: loading it does not block this one, and a crash ends only a request."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
from msgspec import Struct

from treadle._local.runtime.lease import grant, wait_until_idle
from treadle._local.runtime.runtime import ORIGIN, OnChunk, Options, Runtime, serve
from treadle._models.transport.failures import connection_lost
from treadle._python_process import SAFE_FOLDER, module_command
from treadle._types.errors import ModelError, TreadleError


class Order(Struct, frozen=True):
    """The first line of the worker's input."""

    options: Options
    key: str
    lease: str = ""
    """The file that keeps a worker alive when whoever started it has ended; empty: it ends with its input."""
    idle: float = 0.0
    """For how many seconds nobody may use it before it ends."""


class Ready(Struct, frozen=True):
    """The first line of the worker's output."""

    address: str = ""
    error: str = ""


class Remote(Runtime):
    """The model in another process, reached at its loopback port."""

    def complete(self, body: bytes, on_chunk: OnChunk) -> None:
        self._stream("/v1/completions", body, on_chunk)

    def chat(self, body: bytes, on_chunk: OnChunk) -> None:
        self._stream("/v1/chat/completions", body, on_chunk)

    def __del__(self) -> None:
        if hasattr(self, "_address"):
            self.close()

    def _stream(self, path: str, body: bytes, on_chunk: OnChunk) -> None:
        # Returning early closes the connection, which stops the model. No time-out: a process that dies closes it too.
        with self._posted(path, body, timeout=None) as response:
            for line in response:
                if line.startswith(b"data: ") and (line.startswith(b"data: [DONE]") or on_chunk(line[6:])):
                    return
        self._broken = True
        raise connection_lost(ORIGIN, "the runtime closed the connection in the middle of a reply")


class Isolated(Remote):
    """The model in a worker process that ends with this one."""

    def __init__(self, options: Options) -> None:
        key = secrets.token_urlsafe(24)
        self._process, address = start(Order(options, key))
        super().__init__(options, address, key)

    @property
    def alive(self) -> bool:
        return not self._broken and self._process.poll() is None

    def close(self) -> None:
        end(self._process)


def start(order: Order) -> tuple[subprocess.Popen[bytes], str]:
    """Start a worker, and wait until it has loaded the model: the process and its address."""
    command = module_command("treadle._local.runtime.worker")
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=SAFE_FOLDER, start_new_session=bool(order.lease)
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(OSError):
        process.stdin.write(msgspec.json.encode(order) + b"\n")
        process.stdin.flush()
    if line := process.stdout.readline():
        ready = msgspec.json.decode(line, type=Ready)
    else:
        ready = Ready(
            error="local: the model's process died while it loaded the model; check that there is enough memory"
        )
    if ready.error:
        end(process)
        raise ModelError(ready.error, provider="local")
    return process, ready.address


def end(process: subprocess.Popen[bytes]) -> None:
    """Close a worker's pipes and wait for it: it ends when its input does, so also when this process is killed."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main() -> None:
    """The worker process: load the model that the first line of input names, then serve until nobody needs it."""
    # Ctrl-C reaches all processes of the group; the parent decides whether the model is still needed.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = sys.stdout.buffer
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    if order.lease and os.fork():  # the parent waits for this process alone
        os._exit(0)
    try:
        server = serve(order.options, order.key)
        ready = Ready(address=str(server.listening_address))
    except TreadleError as error:
        server, ready = None, Ready(error=str(error))
    with contextlib.suppress(OSError):
        if server is not None and order.lease:
            grant(Path(order.lease), ready.address, order.key)
            _let_go_of_stderr()
        out.write(msgspec.json.encode(ready) + b"\n")
        out.flush()
    if server is not None:
        if order.lease:
            wait_until_idle(Path(order.lease), order.idle)
        else:
            sys.stdin.buffer.read()
        # Nobody waits for what is being evaluated, and the end of the server would.
        os._exit(0)


def _let_go_of_stderr() -> None:
    """Whoever waits until the program's output is closed would wait for a process that stays after it."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    os.close(null)


if __name__ == "__main__":
    main()
