"""The state that the tools of one run share: the machine, its shell, and what the model knows of each file."""

from __future__ import annotations

import hashlib
from pathlib import Path

from treadle._tools.builtin.workfolder import NoSuchFileError, Parts, WorkFolder, split_path
from treadle._types.errors import ToolError
from treadle._workspace.machine import Machine
from treadle._workspace.tools.shell import Shell

MOST_BYTES = 10_000_000
"""Of a file that is read or written."""


class Bench:
    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.folder = WorkFolder(machine.root)
        self.shell = Shell(machine)
        self.jobs: dict[str, int] = {}
        """How much of the output of each background job was read."""
        self._known: dict[Parts, bytes] = {}

    def parts(self, path: str) -> Parts:
        """Return a path as its parts below the folder; one that is written from the root of the system must lead
        there."""
        absolute = Path(path.strip())
        for root in (self.machine.shown, self.machine.shown.resolve(), self.machine.root):
            if absolute.is_relative_to(root):
                return split_path(absolute.relative_to(root).as_posix())
        return split_path(path.strip())

    def read(self, parts: Parts) -> bytes:
        """Read a file; what is in it now is what the model knows."""
        data = self.folder.read(parts, MOST_BYTES)
        self._known[parts] = _digest(data)
        return data

    def before_change(self, parts: Parts, *, must_be_known: bool = False) -> bytes | None:
        """Return what a file holds before it is changed, None if there is none; refuse one that the model knows
        otherwise."""
        name = "/".join(parts)
        try:
            data = self.folder.read(parts, MOST_BYTES)
        except NoSuchFileError:
            if parts in self._known:
                del self._known[parts]
                raise ToolError(f"{name} was removed since it was read: look where it is now") from None
            return None
        digest = self._known.get(parts)
        if digest is None and must_be_known:
            raise ToolError(f"{name} is there already and was not read: read it first, or change it with edit")
        if digest is not None and digest != _digest(data):
            raise ToolError(f"{name} has changed since it was read: read it again")
        return data

    def write(self, parts: Parts, data: bytes) -> None:
        if len(data) > MOST_BYTES:
            raise ToolError(f"the file would be larger than {MOST_BYTES} bytes")
        self.folder.write(parts, data)
        self._known[parts] = _digest(data)

    def remove(self, parts: Parts) -> None:
        self.folder.remove(parts)
        self._known.pop(parts, None)

    def forget(self) -> None:
        """The folder was set to another state: what was read before says nothing about it."""
        self._known.clear()


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
