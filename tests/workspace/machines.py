"""A real machine for the tests of the tools: a folder, with programs beside it or in bubblewrap."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from treadle._types.errors import ToolError

HAS_BWRAP = shutil.which("bwrap") is not None


class FolderMachine(Struct, frozen=True):
    root: Path
    asks_for_writes: bool = False
    reaches_out: bool = False
    isolated: bool = False
    """Programs run in bubblewrap: without it, nothing can be promised about them."""

    @property
    def shown(self) -> Path:
        return self.root

    def command(
        self, argv: Sequence[str], *, read_only: bool = False, env: Mapping[str, str] | None = None, pass_fds: int = 0
    ) -> list[str]:
        if not self.isolated:
            if read_only:
                raise ToolError("this folder cannot be made read-only")
            return list(argv)
        bind = "--ro-bind" if read_only else "--bind"
        return [
            "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
            bind, str(self.root), str(self.root), "--chdir", str(self.root),
            "--unshare-pid", "--unshare-net", "--die-with-parent", "--", *argv,
        ]  # fmt: skip

    async def settle(self) -> None:
        pass
