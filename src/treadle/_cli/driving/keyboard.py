"""What is typed while a run works: the keys, and the line they make."""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

_SEQUENCE = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O.|.)?")


class LineBuffer:
    """Turns keys into lines. Cursor keys are ignored: there is no editing but deleting."""

    def __init__(self) -> None:
        self.text = ""

    def feed(self, keys: str) -> list[str]:
        lines: list[str] = []
        for key in _SEQUENCE.sub("", keys).replace("\r\n", "\n"):
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
        return [line for line in lines if line.strip()]


class Keyboard:
    """Within `with`, `on_keys` is called on the running event loop with everything typed. Ctrl-C still sends SIGINT.

    With `raw` each key is passed on at once and not echoed; otherwise the terminal echoes keys and passes on lines.
    """

    def __init__(self, on_keys: Callable[[str], None], *, raw: bool) -> None:
        self._on_keys = on_keys
        self._raw = raw
        self._restore: Callable[[], None] | None = None

    def __enter__(self) -> Keyboard:
        loop = asyncio.get_running_loop()
        self._restore = (
            _listen_windows(loop, self._on_keys)
            if sys.platform == "win32"
            else _listen_unix(loop, self._on_keys, self._raw)
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._restore is not None:
            self._restore()
            self._restore = None


def _listen_unix(loop: asyncio.AbstractEventLoop, on_keys: Callable[[str], None], raw: bool) -> Callable[[], None]:
    import termios
    import tty

    fd = sys.stdin.fileno()
    before: list[Any] = termios.tcgetattr(fd)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read() -> None:
        data = os.read(fd, 4096)
        if not data:  # the terminal was closed
            loop.remove_reader(fd)
        elif keys := decoder.decode(data):
            on_keys(keys)

    def restore() -> None:
        loop.remove_reader(fd)
        termios.tcsetattr(fd, termios.TCSADRAIN, before)

    if raw:
        tty.setcbreak(fd, termios.TCSADRAIN)
    loop.add_reader(fd, read)
    return restore


def _listen_windows(loop: asyncio.AbstractEventLoop, on_keys: Callable[[str], None]) -> Callable[[], None]:
    import msvcrt

    console: Any = msvcrt  # its functions exist on Windows only
    stopped = threading.Event()

    def poll() -> None:
        while not stopped.is_set():
            if console.kbhit():
                key = console.getwch()
                if key in "\x00\xe0":  # the first half of a function key
                    console.getwch()
                else:
                    loop.call_soon_threadsafe(on_keys, key)
            else:
                time.sleep(0.03)

    threading.Thread(target=poll, name="treadle-keys", daemon=True).start()
    return stopped.set
