"""The interface between the tools that work in a folder and the backend that the folder belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol


class Machine(Protocol):
    """A folder where a run works, with a way to start programs in it. Made by a backend when a run starts or resumes,
    closed when the run ends; a tool gets the one of its run."""

    @property
    def root(self) -> Path:
        """The folder as this process sees it: the file tools read and write below it, and never outside."""
        ...

    @property
    def shown(self) -> Path:
        """Return the folder as the programs in it see it."""
        ...

    @property
    def asks_for_writes(self) -> bool:
        """Return whether the folder is the person's own, so that every change in it needs their yes."""
        ...

    @property
    def reaches_out(self) -> bool:
        """Return whether a program in it can reach anything but the folder: the network, or other files of the
        person. Then a command may send, and the gate treats it as one that does."""
        ...

    def command(
        self, argv: Sequence[str], *, read_only: bool = False, env: Mapping[str, str] | None = None, pass_fds: int = 0
    ) -> list[str]:
        """Return the command line that runs `argv` with the folder as its working directory, inside whatever the
        backend isolates with. The folder cannot be written when `read_only`: a backend that cannot promise that raises
        `ToolError`. The first `pass_fds` descriptors after 2 are left open for the program."""
        ...

    async def settle(self) -> None:
        """Wait until no process that was started by `command` is left that could still change the folder; kill those
        that are. Called before the folder's tree is stored or restored."""
        ...
