"""The backends: which folder a run works in, and how programs are started in it.

`host`: the person's folder as it is. `copy`: an own copy. `worktree`: an own checkout of the folder's git repository.
`sandbox`: the person's folder read-only under a layer that takes what is written (a copy where this system refuses
that), in which programs see nothing else of the person's, and have no network. `Container` starts
programs in a container that has the own copy mounted; anything else with `open` can be a backend, too.

Where bubblewrap can be used, every command has a process namespace of its own, which ends with this process: a kill
leaves no command behind that goes on writing.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from treadle._python_process import SAFE_FOLDER
from treadle._safety.secrets import environment_secrets
from treadle._types.errors import ConfigError, ToolError
from treadle._workspace import processes
from treadle._workspace.gateway import Gateway
from treadle._workspace.machine import Machine
from treadle._workspace.overlay import Overlay, OverlayRefusedError, layers_of

_HERE = 'cd -- "$0" || exit 125; exec "$@"'
_KEPT_BY_SANDBOX = ("PATH", "LANG", "LC_ALL", "TERM", "TZ")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/nix", "/gnu", "/run/current-system")
"""What programs that are isolated see of this computer, read-only."""
_RIGHTS_OF_ROOT = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_SETGID", "CAP_SETUID")
_TIMEOUT = 600


class Place(Struct, frozen=True):
    """The folders of a run that a backend opens."""

    source: Path
    """The person's folder."""
    own: Path
    """The folder that belongs to the run."""
    mark: str
    """Marks the processes of the run."""


class OpenMachine(Machine, Protocol):
    """A machine whose tree can be stored."""

    def held(self) -> AbstractAsyncContextManager[set[int]]:
        """Hold its processes still while the block lasts; gives the files that they write to without a trace."""
        ...

    def close(self) -> None:
        """Let go of what it holds open; its processes have ended."""
        ...


class Backend(Protocol):
    """Makes the machines of runs."""

    name: str
    own: bool
    """Whether its runs have folders of their own, in which trees are restored."""

    def prepare(self, place: Place) -> None:
        """Fill the own folder of a run that begins, where it is not filled from the stored tree of the source."""
        ...

    def open(self, place: Place) -> OpenMachine:
        """The machine of a run that begins or is resumed. Blocks."""
        ...


class LocalMachine:
    """A folder of this computer."""

    asks_for_writes = False
    reaches_out = True
    overlay: Overlay | None = None

    def __init__(self, root: Path, mark: str) -> None:
        self.root = self.shown = root
        self._mark = mark
        self._used = False

    def command(
        self, argv: Sequence[str], *, read_only: bool = False, env: Mapping[str, str] | None = None, pass_fds: int = 0
    ) -> list[str]:
        self._used = True
        if not can_isolate():
            if read_only:
                raise ToolError("the folder cannot be made read-only on this machine: bubblewrap cannot be used here")
            return [*self._environment(env), "/bin/sh", "-c", _HERE, str(self.root), *argv]
        shown = self._reading() if read_only else self._working()
        enter = self.overlay.enter if self.overlay is not None else []
        isolated = ["bwrap", *_ENDS_WITH_US, *shown, "--chdir", str(self.shown), "--", *argv]
        return [*self._environment(env), *enter, *isolated]

    def _environment(self, env: Mapping[str, str] | None) -> list[str]:
        variables = plain_environment(os.environ) if env is None else dict(env)
        return [
            "env",
            "-i",
            *(f"{name}={value}" for name, value in variables.items()),
            f"{processes.MARK}={self._mark}",
        ]

    def _working(self) -> list[str]:
        return ["--dev-bind", "/", "/", "--proc", "/proc"]

    def _reading(self) -> list[str]:
        return isolation(self.root, writable=False, network=False)

    def close(self) -> None: ...

    async def settle(self) -> None:
        await processes.kill(self._mark)

    def held(self) -> AbstractAsyncContextManager[set[int]]:
        return processes.held(self._mark if self._used else "")


class HostMachine(LocalMachine):
    asks_for_writes = True


class SandboxMachine(LocalMachine):
    """Its programs see the system read-only, this folder, and nothing else of the person's."""

    def __init__(self, place: Place, overlay: Overlay | None, *, network: bool | Sequence[str]) -> None:
        super().__init__(place.own if overlay is None else overlay.root, place.mark)
        self._network, self.overlay = network is True, overlay
        self._gateway = Gateway(network) if not isinstance(network, bool) and network else None
        if overlay is not None:
            self.shown = place.source  # an environment in the folder works only where it was made

    @property
    def reaches_out(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._network or self._gateway is not None

    def command(
        self, argv: Sequence[str], *, read_only: bool = False, env: Mapping[str, str] | None = None, pass_fds: int = 0
    ) -> list[str]:
        way = self._gateway if not read_only else None
        line = argv if way is None else way.line(argv)
        return super().command(line, read_only=read_only, env=env, pass_fds=pass_fds)

    def _environment(self, env: Mapping[str, str] | None) -> list[str]:
        shown = {name: os.environ[name] for name in _KEPT_BY_SANDBOX if name in os.environ}
        out = self._gateway.environment() if self._gateway is not None else {}
        return super()._environment({**shown, **out, "HOME": "/tmp", **(env or {})})

    def _working(self) -> list[str]:
        way = self._gateway.options if self._gateway is not None else []
        return [*self._isolation(writable=True, network=self._network), *way]

    def _reading(self) -> list[str]:
        return self._isolation(writable=False, network=False)

    def _isolation(self, *, writable: bool, network: bool) -> list[str]:
        if self.overlay is None:
            return isolation(self.root, writable=writable, network=network)
        return [
            *self.overlay.as_person,
            *isolation(self.overlay.merged, writable=writable, network=network, at=self.shown),
        ]

    def close(self) -> None:
        for part in (self.overlay, self._gateway):
            if part is not None:
                part.close()


_ENDS_WITH_US = ("--die-with-parent", "--unshare-pid")


def isolation(root: Path, *, writable: bool, network: bool, at: Path | None = None) -> list[str]:
    """The options of bubblewrap that show the system read-only, and `root`, perhaps at another place."""
    options = ["--unshare-ipc", "--unshare-uts", *([] if network else ["--unshare-net"]), "--cap-drop", "ALL"]
    if os.geteuid() == 0:  # it may do with files what root may, and not mount the system again for writing
        options += [option for right in _RIGHTS_OF_ROOT for option in ("--cap-add", right)]
    options += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp"]
    # Of an interpreter of the person's own, only what it needs to start; last, as it may be below /tmp.
    for path in dict.fromkeys((*_SYSTEM, sys.base_prefix, sys.prefix)):
        options += ["--ro-bind-try", path, path]
    if network:
        options += ["--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve"]
    return [*options, "--bind" if writable else "--ro-bind", str(root), str(at or root)]


@cache
def can_isolate() -> bool:
    """Return whether bubblewrap can be used on this machine; tried once."""
    if not sys.platform.startswith("linux") or shutil.which("bwrap") is None:
        return False
    command = ["bwrap", *_ENDS_WITH_US, "--ro-bind", "/", "/", "--unshare-net", "--proc", "/proc", "true"]
    return subprocess.run(command, capture_output=True, check=False, timeout=60, cwd=SAFE_FOLDER).returncode == 0


def plain_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without its secrets: a command needs none of the keys of models."""
    secret = set(environment_secrets(environment).values())
    return {name: value for name, value in environment.items() if name not in secret}


class Host:
    name, own = "host", False

    def prepare(self, place: Place) -> None: ...

    def open(self, place: Place) -> OpenMachine:
        return HostMachine(place.source, place.mark)


class Copy:
    name, own = "copy", True

    def prepare(self, place: Place) -> None: ...

    def open(self, place: Place) -> OpenMachine:
        return LocalMachine(place.own, place.mark)


class Worktree(Copy):
    """A checkout of its own. It is a clone that shares the objects of the person's repository: the branch and the index
    of a linked worktree lie outside of its folder, and could not be restored with it."""

    name = "worktree"

    def prepare(self, place: Place) -> None:
        command = ["git", "clone", "--quiet", "--shared", "--", str(place.source), str(place.own)]
        try:
            done = subprocess.run(command, capture_output=True, check=False, timeout=_TIMEOUT, cwd=SAFE_FOLDER)
        except OSError as error:
            raise ConfigError(f"backend='worktree' needs git, which cannot be started: {error}") from None
        if done.returncode:
            reason = done.stderr.decode("utf-8", "replace").strip()[-300:]
            raise ConfigError(f"backend='worktree' needs a git repository, and {place.source} gave: {reason}")


class Sandbox(Copy):
    name = "sandbox"

    def __init__(self, *, network: bool | Sequence[str] = False) -> None:
        self.network = network

    def open(self, place: Place) -> OpenMachine:
        if not can_isolate():
            raise ConfigError("backend='sandbox' needs bubblewrap (Linux), which cannot be used on this machine")
        try:
            overlay = Overlay(place.source, layers_of(place.own))
        except OverlayRefusedError:  # then it works on a copy, and the record says so
            overlay = None
        return SandboxMachine(place, overlay, network=self.network)


class Container(Copy):
    """Programs run in a container of `image` that has the own copy mounted at the same path."""

    name = "container"

    def __init__(self, image: str, *, network: bool = False, program: Sequence[str] = ("docker",)) -> None:
        self.image, self.network, self.program = image, network, tuple(program)

    def open(self, place: Place) -> OpenMachine:
        return _ContainerMachine(place.own, place.mark, self)


class _ContainerMachine(LocalMachine):
    def __init__(self, root: Path, mark: str, container: Container) -> None:
        super().__init__(root, mark)
        self._container = container

    @property
    def reaches_out(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._container.network

    def command(
        self, argv: Sequence[str], *, read_only: bool = False, env: Mapping[str, str] | None = None, pass_fds: int = 0
    ) -> list[str]:
        if pass_fds:
            raise ToolError("a program in a container gets no descriptors")
        self._used = True
        mount = f"type=bind,source={self.root},target={self.root}{',readonly' if read_only else ''}"
        options = ["--rm", "-i", "--mount", mount, "-w", str(self.root), "--label", f"{processes.MARK}={self._mark}"]
        options += [] if self._container.network else ["--network", "none"]
        for name, value in (env or {}).items():
            options += ["-e", f"{name}={value}"]
        return [
            "env",
            f"{processes.MARK}={self._mark}",
            *self._container.program,
            "run",
            *options,
            self._container.image,
            *argv,
        ]

    async def settle(self) -> None:
        """Kill also what lives on when the program that started it has ended, as containers do."""
        await asyncio.to_thread(self._with_containers, "rm", "--force")
        await processes.kill(self._mark)

    @asynccontextmanager
    async def held(self) -> AsyncGenerator[set[int]]:
        await asyncio.to_thread(self._with_containers, "pause")
        try:
            yield set()
        finally:
            await asyncio.to_thread(self._with_containers, "unpause")

    def _with_containers(self, *verb: str) -> None:
        label = f"label={processes.MARK}={self._mark}"
        if working := self._asked("ps", "--quiet", "--filter", label).split():
            self._asked(*verb, *working)

    def _asked(self, *words: str) -> str:
        line = [*self._container.program, *words]
        with suppress(FileNotFoundError):  # without the program no container of it works here
            return subprocess.run(
                line, capture_output=True, text=True, check=False, timeout=_TIMEOUT, cwd=SAFE_FOLDER
            ).stdout
        return ""


NAMED = {"host": Host, "copy": Copy, "worktree": Worktree, "sandbox": Sandbox}
