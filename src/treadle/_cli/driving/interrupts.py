"""Handlers of Ctrl-C (SIGINT) for each part of the program.

`KeyboardInterrupt` can be raised between any two instructions. Inside the code of the event loop that leaves the
loop unusable, or loses the interrupt. So it is raised only where nothing is half done; elsewhere Ctrl-C asks the work
to stop.

The program always sets its own handler, also when it inherited an ignored SIGINT, as a job does that a script or a
build system starts in the background: a signal that somebody sends to this process on purpose ends it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from treadle._cli.setup import exit_codes

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")
_WAKE_SECONDS = 0.2
"""How often reading a line from the user is interrupted to handle signals."""


def exit_at_once(code: int, clean_up: Callable[[], None] | None = None) -> NoReturn:
    """End the process without waiting for threads. Nothing is lost: the journal has every record."""
    with suppress(Exception):
        if clean_up is not None:
            clean_up()
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


class _Handler:
    """A handler of SIGINT that is installed within `with`; not in other threads, which cannot handle signals."""

    _previous: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        raise NotImplementedError


def _has_alarm() -> bool:
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """A handler whose only effect is that system calls return."""


class RaiseOnce(_Handler):
    """The first Ctrl-C raises `KeyboardInterrupt`; one that comes while that is being handled ends the process."""

    def __init__(self, *, keep: bool) -> None:
        """With `keep` it stays installed: Ctrl-C while the interpreter shuts down does not change the exit code."""
        self._keep = keep
        self._code = exit_codes.CANCELLED
        self._raise = True

    def exit_with(self, code: int) -> None:
        """The work is done: from here on Ctrl-C ends the process with this code."""
        self._code, self._raise = code, False

    def __exit__(self, *details: object) -> None:
        if not self._keep:
            super().__exit__(*details)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if not self._raise:
            exit_at_once(self._code)
        self._raise = False
        raise KeyboardInterrupt


class HoldBack(_Handler):
    """Ctrl-C is remembered until the next `allowed` block, where it raises `KeyboardInterrupt`.

    A second one before that block ends the process.
    """

    def __init__(self) -> None:
        self._allowed = False
        self._pending = False

    def __enter__(self) -> Self:
        if _has_alarm():
            signal.signal(signal.SIGALRM, _do_nothing)
        return super().__enter__()

    def __exit__(self, *details: object) -> None:
        super().__exit__(*details)
        if _has_alarm():
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)

    @contextmanager
    def allowed(self) -> Generator[None]:
        """A block that waits for the user: here Ctrl-C raises `KeyboardInterrupt`, once."""
        self._allowed = True
        try:
            if self._pending:
                self._pending = False
                raise KeyboardInterrupt
            if _has_alarm():
                # A signal that comes just before the line editor waits for a key would be handled with that key only.
                signal.setitimer(signal.ITIMER_REAL, _WAKE_SECONDS, _WAKE_SECONDS)
            yield
        finally:
            self._allowed = False
            if _has_alarm():
                signal.setitimer(signal.ITIMER_REAL, 0)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._allowed:
            self._allowed = False
            raise KeyboardInterrupt
        if self._pending:
            exit_at_once(exit_codes.CANCELLED)
        self._pending = True


@contextmanager
def _woken_by_signals(loop: asyncio.AbstractEventLoop) -> Generator[None]:
    """Have every signal wake the loop.

    Python runs its handlers between two instructions. A signal that arrives just before the loop begins to wait, or in
    another thread, would otherwise be handled with the next event, which may never come while a question is open.
    """
    if os.name == "nt" or threading.current_thread() is not threading.main_thread():  # Windows' loop does this itself
        yield
        return
    import socket

    reader, writer = socket.socketpair()
    reader.setblocking(False)
    writer.setblocking(False)
    previous = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    loop.add_reader(reader, reader.recv, 4096)
    try:
        yield
    finally:
        loop.remove_reader(reader)
        signal.set_wakeup_fd(previous)
        reader.close()
        writer.close()


class StopWork(_Handler):
    """The first Ctrl-C stops the work named by `cancel_by`; the second ends the process, after `clean_up`."""

    def __init__(self, clean_up: Callable[[], None] | None = None) -> None:
        self._clean_up = clean_up
        self._loop: asyncio.AbstractEventLoop | None = None
        self._cancel: Callable[[], object] | None = None
        self.count = 0

    @contextmanager
    def cancel_by(self, loop: asyncio.AbstractEventLoop, cancel: Callable[[], object]) -> Generator[None]:
        """Within this block, call `cancel` on the running event loop; at once if Ctrl-C came before."""
        self._loop, self._cancel = loop, cancel
        if self.count:
            cancel()
        with _woken_by_signals(loop):
            yield

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count > 1:
            exit_at_once(exit_codes.CANCELLED, self._clean_up)
        if self._loop is not None and self._cancel is not None:
            with suppress(RuntimeError):  # the loop is closed: the work is done, and the program about to end
                self._loop.call_soon_threadsafe(self._cancel)


def run_async(work: Coroutine[Any, Any, T], runner: asyncio.Runner | None = None) -> T:
    """Like `asyncio.run`, or `runner.run` when the event loop is to be kept.

    Ctrl-C cancels the work, and `KeyboardInterrupt` is raised when it has ended; a second one ends the process.
    """
    import asyncio

    async def interruptible() -> T:
        task = asyncio.ensure_future(work)
        with interrupt.cancel_by(asyncio.get_running_loop(), task.cancel):
            return await task

    with StopWork() as interrupt:
        used = runner or asyncio.Runner()
        try:
            result = used.run(interruptible())
        except asyncio.CancelledError:
            if interrupt.count:
                raise KeyboardInterrupt from None
            raise
        finally:
            if runner is None:
                used.close()
        if interrupt.count:  # the work was done before it could be cancelled
            raise KeyboardInterrupt
        return result
