"""A folder as layers: the person's folder below, read-only, and above it what the run has written (Linux).

The layers are mounted in a namespace of their own, which a process holds open that waits at a pipe: it ends with this
process, however that ends, and the files lie in `upper` all the same. The programs of the run join the namespace, and
this process sees the folder through that of the waiting one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import weakref
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE

from treadle._types.errors import ToolError

# Names relative to the folder of the layers: `,`, `:` and `\\` in a path would be read as options.
_MOUNT = """
mount --rbind -- "$1" lower &&
mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work,userxattr merged && echo mounted && exec cat
"""
_LAYERS = ("lower", "upper", "work", "merged")


class OverlayRefusedError(ToolError):
    """This machine, or the folder, cannot be shown as layers."""


class Overlay:
    """The mounted layers of one run."""

    def __init__(self, source: Path, layers: Path) -> None:
        if not sys.platform.startswith("linux") or not (shutil.which("unshare") and shutil.which("nsenter")):
            raise OverlayRefusedError("there are no overlays on this system")
        if layers.resolve().is_relative_to(source.resolve()):
            raise OverlayRefusedError("the folder holds the journal of its runs, which must not show through")
        if inside := _mounts_below(source):
            raise OverlayRefusedError(f"something is mounted at {inside}, which an overlay would not show")
        self.fresh = not (layers / "upper").is_dir()
        """Whether nothing was written to it yet."""
        for name in _LAYERS:
            (layers / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copymode(source, layers / "upper")
        # With a namespace of users only where it is needed: in one, files of other users could not be changed.
        problem = ""
        for own in ((["--mount"],) if os.geteuid() == 0 else ()) + (["--mount", "--user", "--map-root-user"],):
            process = subprocess.Popen(
                ["unshare", *own, "sh", "-c", _MOUNT, "sh", str(source)],
                stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=layers, start_new_session=True,
            )  # fmt: skip
            assert process.stdout is not None
            assert process.stderr is not None
            if process.stdout.readline():
                break
            problem = process.communicate()[1].decode("utf-8", "replace").strip()[-200:]
        else:
            raise OverlayRefusedError(f"overlays cannot be mounted here: {problem}")
        self.upper, self.merged = layers / "upper", layers / "merged"
        self.root = Path(f"/proc/{process.pid}/root{self.merged}")
        """The folder as this process sees it."""
        self.enter = ["nsenter", f"--target={process.pid}", *own[:1]]
        """Before a command line: run it where the layers are mounted."""
        self.as_person: list[str] = []
        """The options of bubblewrap with which a program there has the person's ids, and no more rights."""
        if "--user" in own:
            self.enter += ["--user", "--preserve-credentials"]
            ids = ["--uid", str(os.getuid()), "--gid", str(os.getgid())]
            self.as_person = ["--unshare-user", *ids]
        self.close = weakref.finalize(self, process.communicate)  # the end of its input ends it

    def written(self, where: str) -> set[str] | None:
        """The names in a folder that the run has written or removed; None where all of it is the run's own."""
        folder = self.upper / where
        with suppress(OSError):
            if os.getxattr(folder, "user.overlay.opaque") == b"y":
                return None
        try:
            return set(os.listdir(folder))
        except FileNotFoundError:
            return set()

    def is_mapped(self, where: str, mapped: Collection[int]) -> bool:
        """Return whether a file is one of these inodes, which are those of the layer that it is written to."""
        with suppress(OSError):
            return (self.upper / where).lstat().st_ino in mapped
        return False


def layers_of(own: Path) -> Path:
    """Where the layers of a run lie: beside the folder that it would have without."""
    return own.with_name(f"{own.name}.layers")


def _mounts_below(source: Path) -> str:
    prefix = f"{source.resolve()}/".replace("//", "/")
    with suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text("utf-8", "replace").splitlines():
            point = line.split(" ")[4].encode().decode("unicode_escape")
            if point.startswith(prefix):
                return point
    return ""
