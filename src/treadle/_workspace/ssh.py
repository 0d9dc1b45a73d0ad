"""Another machine, over ssh: its folder is mounted here (sshfs), so that tools and trees work on its files."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import weakref
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from treadle._python_process import SAFE_FOLDER
from treadle._types.errors import ConfigError, ToolError
from treadle._workspace import processes
from treadle._workspace.backends import Copy, LocalMachine, OpenMachine, Place

_SECONDS = 120
_UNCACHED = ("-o", "dir_cache=no,attr_timeout=0,entry_timeout=0")
_SIGNAL = """for p in $(grep -lzxF {mark} /proc/[0-9]*/environ 2>/dev/null); do
p=${{p%/environ}}; kill -{signal} "${{p#/proc/}}"
done 2>/dev/null; true"""


class Ssh(Copy):
    """Programs run on `host`, in a folder of the run below `folder` there. `ssh`, `mount` and `unmount` are the command
    lines that do it, with their options."""

    name = "ssh"

    def __init__(
        self,
        host: str,
        folder: str = ".treadle-workspaces",
        *,
        ssh: Sequence[str] = ("ssh", "-o", "BatchMode=yes"),
        mount: Sequence[str] = ("sshfs", *_UNCACHED),
        unmount: Sequence[str] = ("fusermount3", "-u"),
    ) -> None:
        if host.startswith("-"):
            raise ConfigError(f"ssh: {host!r} is no host")
        self.host, self.folder = host, folder
        self.ssh, self.mount, self.unmount = tuple(ssh), tuple(mount), tuple(unmount)

    def open(self, place: Place) -> OpenMachine:
        there = f"{self.folder}/{place.mark}"
        script = f"mkdir -p -- {shlex.quote(there)} && cd -- {shlex.quote(there)} && pwd"
        remote = self.asked(script)
        if os.path.lexists(place.own):  # of a process that was killed
            _started([*self.unmount, str(place.own)])
        place.own.mkdir(mode=0o700, exist_ok=True)
        _run([*self.mount, f"{self.host}:{remote}", str(place.own)])
        return _SshMachine(place, self, Path(remote))

    def asked(self, script: str) -> str:
        """Return what a script prints on the other machine."""
        return _run([*self.ssh, self.host, "--", script]).strip()


class _SshMachine(LocalMachine):
    def __init__(self, place: Place, backend: Ssh, remote: Path) -> None:
        super().__init__(place.own, place.mark)
        self._backend, self.shown = backend, remote
        self.close = weakref.finalize(self, _started, [*backend.unmount, str(place.own)])  # also of a paused run

    def command(
        self, argv: Sequence[str], *, read_only: bool = False, env: Mapping[str, str] | None = None, pass_fds: int = 0
    ) -> list[str]:
        if read_only:
            raise ToolError("the folder cannot be made read-only on another machine")
        if pass_fds:
            raise ToolError("a program on another machine gets no descriptors")
        self._used = True
        # What this machine's variables say of its own folders does not hold there.
        changed = [f"{name}={value}" for name, value in (env or {}).items() if os.environ.get(name) != value]
        line = ["env", f"{processes.MARK}={self._mark}", *changed, *argv]
        script = f"cd -- {shlex.quote(str(self.shown))} && exec {shlex.join(line)}"
        return ["env", f"{processes.MARK}={self._mark}", *self._backend.ssh, self._backend.host, "--", script]

    def _signal(self, signal: str) -> None:
        if self._used:
            self._backend.asked(_SIGNAL.format(mark=shlex.quote(f"{processes.MARK}={self._mark}"), signal=signal))

    async def settle(self) -> None:
        self._used = True  # a process before this one may have left some
        await asyncio.to_thread(self._signal, "KILL")
        await processes.kill(self._mark)

    @asynccontextmanager
    async def held(self) -> AsyncGenerator[set[int]]:
        await asyncio.to_thread(self._signal, "STOP")
        try:
            yield set()
        finally:
            await asyncio.to_thread(self._signal, "CONT")


def _started(line: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        line, capture_output=True, check=False, timeout=_SECONDS, stdin=subprocess.DEVNULL, cwd=SAFE_FOLDER
    )


def _run(line: Sequence[str]) -> str:
    try:
        done = _started(line)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"backend Ssh needs {line[0]}, which did not work: {error}") from None
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise ConfigError(f"backend Ssh: {line[0]} failed: {reason}")
    return done.stdout.decode("utf-8", "replace")
