"""Reads keys while a run works, and joins them to lines."""

from __future__ import annotations

import asyncio
import codecs
import os
import queue
import re
import select
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_SEQUENCE = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O.|.)?")


def plain_keys(keys: str) -> str:
    """Remove cursor and function keys, and use one key for Enter."""
    return _SEQUENCE.sub("", keys).replace("\r\n", "\n")


class LineBuffer:
    """Turns keys into lines. Cursor keys are ignored: there is no editing but deleting."""

    def __init__(self) -> None:
        self.text = ""

    def feed(self, keys: str) -> list[str]:
        """Return the lines that are complete now, without empty ones."""
        return [line for line in self.lines(keys) if line.strip()]

    def lines(self, keys: str) -> list[str]:
        lines: list[str] = []
        for key in plain_keys(keys):
            if key in "\r\n":
                lines.append(self.text)
                self.text = ""
            elif key in "\x7f\b":
                self.text = self.text[:-1]
            elif key == "\x04" and not self.text:  # Ctrl-D
                lines.append("/quit")
            elif key == "\x15":  # Ctrl-U
                self.text = ""
            elif key == "\x17":  # Ctrl-W
                self.text = self.text.rstrip()[: self.text.rstrip().rfind(" ") + 1]
            elif key.isprintable() or key == "\t":
                self.text += key
        return lines


class Keyboard:
    """`on_keys` is called on the running event loop with everything typed, until `close`; `on_end` when the terminal
    is gone. Ctrl-C still sends SIGINT.

    With `raw` each key is passed on at once and not echoed; otherwise the terminal echoes keys and passes on lines.
    """

    def __init__(self, on_keys: Callable[[str], None], on_end: Callable[[], None], *, raw: bool) -> None:
        self.raw = raw
        keys = _WindowsKeys if sys.platform == "win32" else _UnixKeys
        self._keys: _UnixKeys | _WindowsKeys | None = keys(asyncio.get_running_loop(), on_keys, on_end, raw)

    def drain(self) -> str:
        """Return what was typed until now and not passed on yet. With `raw` also a line that has only been begun."""
        return self._keys.drain() if self._keys is not None else ""

    def close(self) -> None:
        if self._keys is not None:
            self._keys.close()
            self._keys = None


class _UnixKeys:
    def __init__(
        self, loop: asyncio.AbstractEventLoop, on_keys: Callable[[str], None], on_end: Callable[[], None], raw: bool
    ) -> None:
        import termios
        import tty

        self._loop, self._on_keys, self._on_end = loop, on_keys, on_end
        self._fd = sys.stdin.fileno()
        before: list[Any] = termios.tcgetattr(self._fd)
        self._restore = lambda: termios.tcsetattr(self._fd, termios.TCSADRAIN, before)
        self._gone = (OSError, termios.error)
        """What says that there is no terminal any more."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        if raw:
            tty.setcbreak(self._fd, termios.TCSADRAIN)
        loop.add_reader(self._fd, self._read)

    def drain(self) -> str:
        typed = ""
        while self._waits() and (keys := self._next()):
            typed += keys
        return typed

    def _waits(self) -> bool:
        return bool(select.select([self._fd], [], [], 0)[0])

    def close(self) -> None:
        self._loop.remove_reader(self._fd)
        with suppress(*self._gone):
            self._restore()

    def _read(self) -> None:
        # Ctrl-C empties the terminal's buffer: what the loop has seen there may be gone, and reading would never end.
        if self._waits() and (keys := self._next()):
            self._on_keys(keys)

    def _next(self) -> str:
        try:
            data = os.read(self._fd, 4096)
        except OSError:
            data = b""
        if not data:  # the terminal was closed
            self._loop.remove_reader(self._fd)
            self._on_end()
        return self._decoder.decode(data)


class _WindowsKeys:
    def __init__(
        self, loop: asyncio.AbstractEventLoop, on_keys: Callable[[str], None], on_end: Callable[[], None], raw: bool
    ) -> None:
        self._loop, self._on_keys = loop, on_keys
        self._stopped = threading.Event()
        self._typed: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._poll, name="treadle-keys", daemon=True).start()

    def drain(self) -> str:
        typed = ""
        with suppress(queue.Empty):
            while True:
                typed += self._typed.get_nowait()
        return typed

    def close(self) -> None:
        self._stopped.set()

    def _poll(self) -> None:
        import msvcrt

        console: Any = msvcrt  # its functions exist on Windows only
        while not self._stopped.is_set():
            if not console.kbhit():
                time.sleep(0.03)
                continue
            key = console.getwch()
            if key in "\x00\xe0":  # the first half of a function key
                console.getwch()
            else:
                self._typed.put(key)
                with suppress(RuntimeError):  # the loop was closed meanwhile
                    self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        if keys := self.drain():
            self._on_keys(keys)
