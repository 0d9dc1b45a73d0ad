"""A recording from its beginning to its end: the proxy, the program behind it, and the recorder."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from treadle._record.exchange import HttpExchange
from treadle._record.proxy import Proxy
from treadle._record.upstreams import Routes, child_environment
from treadle._types.errors import ConfigError


async def record_program(
    command: Sequence[str], routes: Routes, recorder: Callable[[HttpExchange], None], environment: Mapping[str, str]
) -> int:
    """Run a program whose SDKs find the proxy in place of their providers; returns its exit code."""
    proxy = Proxy(routes, recorder)
    address = await proxy.start()
    try:
        try:
            child = await asyncio.create_subprocess_exec(
                *command, env=child_environment(environment, address, routes), cwd=os.getcwd()
            )
        except OSError as error:
            raise ConfigError(f"{command[0]} cannot be started: {error.strerror or error}") from None
        with_terminal = sys.stdin is not None and sys.stdin.isatty()

        def on_interrupt() -> None:
            if not with_terminal:  # else Ctrl-C has reached the program as well
                _send(child, signal.SIGINT)

        _handle(signal.SIGINT, on_interrupt)
        _handle(signal.SIGTERM, lambda: _send(child, signal.SIGTERM))
        code = await child.wait()
        return 128 - code if code < 0 else code
    finally:
        await proxy.close()


async def record_connections(
    port: int, routes: Routes, recorder: Callable[[HttpExchange], None], ready: Callable[[str], None]
) -> None:
    """Listen until SIGINT or SIGTERM."""
    proxy = Proxy(routes, recorder)
    try:
        ready(await proxy.start(port))
    except OSError as error:
        raise ConfigError(f"--listen {port}: {error.strerror or error}") from None
    stopped = asyncio.Event()
    _handle(signal.SIGINT, stopped.set)
    _handle(signal.SIGTERM, stopped.set)
    try:
        await stopped.wait()
    finally:
        await proxy.close()


def _handle(number: signal.Signals, action: Callable[[], None]) -> None:
    with suppress(NotImplementedError, RuntimeError, ValueError):  # other systems, other threads
        asyncio.get_running_loop().add_signal_handler(number, action)


def _send(child: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        child.send_signal(number)
