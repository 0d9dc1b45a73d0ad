"""The command that starts code in bubblewrap: what it sees, what it may use, and as whom it runs."""

from __future__ import annotations

import functools
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from treadle._python_process import SAFE_FOLDER
from treadle._tools.sandbox.base import SandboxLimits
from treadle._tools.sandbox.interpreters import SYSTEM_FOLDERS, Interpreter

Language = Literal["python", "javascript"]


class Script(Struct, frozen=True):
    """A program in a folder that the sandbox shows as /skill, read-only. Its standard input is not its code."""

    folder: str
    name: str
    """Below the folder, like scripts/count.py"""
    arguments: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        return (f"/skill/{self.name}", *self.arguments)


USER = 64_321
"""A user id that nobody has. When we are root the code must not be: root has no limit on processes."""
_NAMESPACES = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
_CAPABILITIES_TO_DROP_ROOT = ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP")
_DROP_ROOT = (
    "setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"
)  # fmt: skip
SCRATCH_FOLDERS = ("/tmp", "/dev/shm")
"""Always in memory; /work is too, unless a folder is given."""
WORK = "/work"
"""The folder of the code."""
_INTERPRETERS = "/interpreter"
"""Where an interpreter is shown that lies below a folder of this machine called `/work`: ours would hide it."""
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": WORK, "LANG": "C.UTF-8"}
_OF_SESSIONS = {"HOME": "/tmp", "MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1"}
"""What libraries keep for themselves is no result of the code; there is no screen, and a few processes only."""
_SESSION_SECONDS = 3_600
"""Of computing, in all pieces of a session together."""
_RUN_PYTHON = """
import ast, sys
tree = ast.parse(sys.stdin.buffer.read().decode(), 'code')
last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
space = {'__name__': '__main__'}
exec(compile(tree, 'code', 'exec'), space)
if last is not None:
    value = eval(compile(ast.Expression(last.value), 'code', 'eval'), space)
    if value is not None:
        print(value if isinstance(value, str) else repr(value))
"""
"""Runs inside the sandbox; the value of the last expression is printed as at a Python prompt."""


def sandbox_command(
    language: str,
    interpreter: Interpreter,
    limits: SandboxLimits,
    folder: str,
    filter_fd: int | None,
    script: Script | None = None,
    *,
    session: str = "",
) -> list[str]:
    """The program comes through the standard input, unless it is a `script`: the `folder` is touched by the code and by
    nobody else. `session` is a program that reads what to run from its standard input, piece by piece.

    As root there are two layers: the outer one has the rights to show files that are root's own, and gives them up; the
    inner one puts the unprivileged user into a user namespace, which an ordinary user gets with the first.
    """
    root = is_root()
    environment = {**_ENVIRONMENT, **(_OF_SESSIONS if session else {})}
    user = ["--unshare-user", *(("--disable-userns",) if "--disable-userns" in _bwrap_options() else ())]
    inner = [*user, *(() if filter_fd is None else ("--seccomp", str(filter_fd))), "--die-with-parent"]
    outer = [
        shutil.which("bwrap") or "bwrap", *_NAMESPACES, "--die-with-parent", "--new-session", "--cap-drop", "ALL",
        *(_CAPABILITIES_TO_DROP_ROOT if root else ()), *_mounts(interpreter, limits, folder, script),
        *(part for name, value in environment.items() for part in ("--setenv", name, value)),
    ]  # fmt: skip
    layers = [*outer, *_DROP_ROOT, "bwrap", "--dev-bind", "/", "/", *inner] if root else [*outer, *inner]
    return [*layers, "--chdir", WORK, "--", *_limited(language, interpreter, limits, script, session)]


def place_of(path: str) -> str:
    """Where the sandbox shows a file of an interpreter: where it is, unless the folder of the code would hide it. An
    interpreter finds its files from its own place, so it may be moved as a whole."""
    return _INTERPRETERS + path if path.startswith(f"{WORK}/") else path


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _mounts(interpreter: Interpreter, limits: SandboxLimits, folder: str, script: Script | None) -> list[str]:
    """A read-only system, and folders in memory of a limited size. Also bubblewrap's own `/` and `/dev` are in memory,
    and would be the code's to fill."""
    scratch = ["--perms", "1777", "--size", str(limits.scratch), "--tmpfs"]
    options = [*scratch, "/tmp", "--proc", "/proc", "--dev", "/dev", *scratch, "/dev/shm"]
    for path in (*filter(os.path.exists, SYSTEM_FOLDERS), *interpreter.files):
        options += [*_parents(place_of(path)), "--ro-bind", path, place_of(path)]
    options += ["--bind", folder, WORK] if folder else [*scratch, WORK]
    options += ["--ro-bind", script.folder, "/skill"] if script is not None else []
    return [*options, "--remount-ro", "/dev", "--remount-ro", "/"]


def _parents(path: str) -> list[str]:
    """The folders above a file: bubblewrap itself would create them readable by their owner only."""
    names = path.split("/")[1:-1]
    above = ["/" + "/".join(names[: count + 1]) for count in range(len(names))]
    return [part for folder in above for part in ("--perms", "0755", "--dir", folder)]


def _limited(
    language: str, interpreter: Interpreter, limits: SandboxLimits, script: Script | None, session: str
) -> Sequence[str]:
    values = {"cpu": max(1, round(limits.seconds)), "fsize": limits.memory, "nofile": 64, "core": 0}
    if session:  # it is its pieces that are timed, and libraries for data have many files
        values |= {"cpu": _SESSION_SECONDS, "nofile": 512}
    if _counts_by_namespace():
        values["nproc"] = limits.processes
    if language == "javascript":
        # node reserves gigabytes of address space, so its memory is limited by its own option, and by measuring it
        program = [place_of(interpreter.program), f"--max-old-space-size={limits.memory // 2**20}"]
        command = [*program, *(script.command if script is not None else ("-",))]
    else:
        if not session:  # libraries for data reserve far more than they use: what is used is measured
            values["as"] = limits.memory
        if script is None:
            command = [place_of(interpreter.program), "-I", "-c", session or _RUN_PYTHON]
        else:  # what lies beside a script may be imported; the environment is the sandbox's own
            command = [place_of(interpreter.program), *(("-B", "-s") if language == "python" else ()), *script.command]
    return ["prlimit", *(f"--{name}={value}" for name, value in values.items()), *command]


def _counts_by_namespace() -> bool:
    """Tell whether the kernel limits processes for each sandbox; before 5.14 it counted all processes of the user."""
    version = re.match(r"(\d+)\.(\d+)", platform.release())
    return version is not None and (int(version[1]), int(version[2])) >= (5, 14)


@functools.cache
def _bwrap_options() -> str:
    program = shutil.which("bwrap")
    if program is None:
        return ""
    return subprocess.run([program, "--help"], capture_output=True, text=True, cwd=SAFE_FOLDER, check=False).stdout
