"""Which process holds a claim, and whether it is still running.

A pid alone is not enough: in a container every restart gets the same one. With the start time and the boot id the
answer is exact on Linux and Windows. Elsewhere a live pid may belong to another process, so the answer is "unknown" and
the lease of the claim decides.
"""

from __future__ import annotations

import os
import platform
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from msgspec import Struct


class ProcessIdentity(Struct, frozen=True):
    host: str
    """Equal for two processes exactly when they can see each other's pid."""
    pid: int
    started: str


def this_process() -> ProcessIdentity:
    return _identity(os.getpid())


@cache
def _identity(pid: int) -> ProcessIdentity:
    return ProcessIdentity(_host(), pid, _started(pid) or "")


def is_alive(process: ProcessIdentity) -> bool | None:
    """Return whether the process is running; None if it cannot be checked from here."""
    if process.host != _host():
        return None
    started = _started(process.pid)
    if started is None:
        return False
    if started and process.started:
        return started == process.started
    return None


@cache
def _host() -> str:
    parts = [platform.node()]
    if sys.platform == "linux":
        with suppress(OSError):  # a sandbox may hide them
            parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
            parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def _started(pid: int) -> str | None:
    """Return the start time of a process; "" if this system does not tell, None if there is no such process."""
    if sys.platform == "win32":
        return _started_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()  # the process name, in parentheses, may contain anything
    state, started = fields[0], fields[19]
    return None if state in "ZX" else started


def _started_windows(pid: int) -> str | None:
    if sys.platform != "win32":
        return None
    import ctypes
    from ctypes import wintypes

    query_limited_information, still_active = 0x1000, 259
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel.OpenProcess.restype = wintypes.HANDLE
    handle = kernel.OpenProcess(query_limited_information, False, pid)
    if not handle:
        access_denied = 5
        return "" if ctypes.get_last_error() == access_denied else None
    try:
        code = wintypes.DWORD()
        kernel.GetExitCodeProcess(wintypes.HANDLE(handle), ctypes.byref(code))
        if code.value != still_active:
            return None
        created, exited, in_kernel, in_user = (wintypes.FILETIME() for _ in range(4))
        kernel.GetProcessTimes(
            wintypes.HANDLE(handle),
            ctypes.byref(created),
            ctypes.byref(exited),
            ctypes.byref(in_kernel),
            ctypes.byref(in_user),
        )
        return str(created.dwHighDateTime << 32 | created.dwLowDateTime)
    finally:
        kernel.CloseHandle(wintypes.HANDLE(handle))
