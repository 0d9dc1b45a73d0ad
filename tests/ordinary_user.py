"""Runs a command as an ordinary user when the tests run as root."""

from __future__ import annotations

import os
import shlex
import sys
import sysconfig
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

USER = 64_123
"""An id that nobody has."""
ROOT = Path(__file__).resolve().parent.parent


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


@contextmanager
def as_ordinary_user(*command: str) -> Generator[list[str]]:
    """The command that runs `command` in a home of its own; nothing of our environment but what finds programs.

    The interpreter and this project may lie below a folder for root only (root's home). In a mount namespace of the
    command's own, such a folder is replaced by an empty one with just these in it, at the same places.
    """
    with tempfile.TemporaryDirectory(prefix="treadle-user-") as home:
        os.chmod(home, 0o755)
        (Path(home) / "home").mkdir()
        os.chown(Path(home) / "home", USER, USER)
        environment = {
            "HOME": f"{home}/home", "TMPDIR": f"{home}/home", "LANG": "C.UTF-8", "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1",
            **{name: os.environ[name] for name in ("CI", "TREADLE_NO_SKIPS") if name in os.environ},
        }  # fmt: skip
        mounts = _uncovered(_needed(), Path(home))
        script = ["set -e", *mounts, f"cd {shlex.quote(str(ROOT))}"]
        settings = [f"{name}={value}" for name, value in environment.items()]
        drop = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "env", "-i", *settings, *command]
        script.append(f"exec {shlex.join(drop)}")
        own_mounts = ["unshare", "--mount", "--propagation", "private"] if mounts else []
        yield [*own_mounts, "sh", "-c", "\n".join(script)]


def _needed() -> list[Path]:
    places = [ROOT, sys.prefix, sys.base_prefix, sysconfig.get_path("purelib")]
    return [Path(place).resolve() for place in places]


def _uncovered(needed: list[Path], stage: Path) -> list[str]:
    """Shell lines that make each place reachable where a folder above it is closed to others."""
    closed = {path: folder for path in needed if (folder := _closed_folder(path)) is not None}
    lines: list[str] = []
    for number, path in enumerate(closed):
        lines += [f"mkdir {stage}/{number}", f"mount --bind {shlex.quote(str(path))} {stage}/{number}"]
    lines += [f"mount -t tmpfs -o mode=755 none {shlex.quote(str(folder))}" for folder in sorted(set(closed.values()))]
    for number, path in enumerate(closed):
        lines += [
            f"mkdir -p {shlex.quote(str(path))}",
            f"mount --bind {stage}/{number} {shlex.quote(str(path))}",
        ]
    return lines


def _closed_folder(path: Path) -> Path | None:
    return next((folder for folder in reversed([path, *path.parents]) if not folder.stat().st_mode & 0o001), None)
