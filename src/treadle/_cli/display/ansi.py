"""Where escape sequences may be used: not in pipes, on dumb terminals, or on old Windows consoles."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any, TextIO

_DUMB = ("dumb", "unknown")
_VT_OUTPUT = 0x0004
"""The flag of a Windows console that reads escape sequences."""


def styled(text: str, code: str, stream: TextIO) -> str:
    """The text between escape sequences, such as `2` for dim, where `stream` shows them."""
    return f"\x1b[{code}m{text}\x1b[0m" if text and colours(stream) else text


def colours(stream: TextIO) -> bool:
    return capable(stream) and not os.environ.get("NO_COLOR")


def capable(stream: TextIO) -> bool:
    """Return whether `stream` is a terminal that reads escape sequences."""
    if not stream.isatty() or os.environ.get("TERM", "") in _DUMB:
        return False
    return sys.platform != "win32" or _windows_reads_sequences()


def _windows_reads_sequences() -> bool:
    env = os.environ
    if env.get("WT_SESSION") or env.get("ANSICON") or env.get("ConEmuANSI") == "ON" or env.get("TERM"):
        return True
    with suppress(Exception):  # whatever is missing there: then it does not
        import ctypes

        kernel: Any = getattr(ctypes, "windll").kernel32  # noqa: B009 - exists on Windows only
        console, mode = kernel.GetStdHandle(-11), ctypes.c_ulong()
        if kernel.GetConsoleMode(console, ctypes.byref(mode)):
            return bool(mode.value & _VT_OUTPUT or kernel.SetConsoleMode(console, mode.value | _VT_OUTPUT))
    return False
