"""Which files of an interpreter the code in a sandbox is shown: exactly those it needs, never the folder they lie in.

A `node` in ~/bin would show the whole home, a Python in ~/.local all the keys there.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import msgspec

from treadle._python_process import SAFE_FOLDER
from treadle._types.errors import ToolError

SYSTEM_FOLDERS = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives", "/etc/ld.so.cache"
)  # fmt: skip
_ASK_SECONDS = 60.0
_PYTHON_FOLDERS = ("stdlib", "platstdlib", "purelib", "platlib")
_PYTHON_FILES = f"""
import json, sys, sysconfig
folders = [sysconfig.get_paths()[name] for name in {_PYTHON_FOLDERS}]
print(json.dumps([sys.executable, sys.prefix, sys.base_prefix, *folders]))
"""


class Interpreter(msgspec.Struct, frozen=True):
    program: str
    """The interpreter itself, after links and launchers."""
    files: tuple[str, ...]
    """Files and folders outside of the system's that it needs; each is shown where it is."""


@functools.cache
def python_interpreter(program: str) -> Interpreter:
    if program == sys.executable:
        paths = sysconfig.get_paths()
        facts = [program, sys.prefix, sys.base_prefix, *(paths[name] for name in _PYTHON_FOLDERS)]
    else:
        facts = msgspec.json.decode(_ask(program, "-I", "-c", _PYTHON_FILES), type=list[str])
    python, prefix, base, *folders = facts
    # A conda environment is a folder of packages, whose libraries are shared by modules anywhere in it.
    conda = [f"{place}/lib" for place in (prefix, base) if os.path.isdir(f"{place}/conda-meta")]
    modules = [str(path) for path in sorted(Path(folders[0], "lib-dynload").glob("*.so"))]
    return Interpreter(python, _needed([python, f"{prefix}/pyvenv.cfg", *folders, *conda], [python, *modules]))


@functools.cache
def node_interpreter(program: str) -> Interpreter:
    """Launchers of version managers start another program: node itself knows which."""
    node = _ask(program, "-p", "process.execPath").strip()
    return Interpreter(node, _needed([node], [node]))


@functools.cache
def shell_interpreter() -> Interpreter:
    """The system's own: it is in the folders that every sandbox shows."""
    shell = next((path for path in ("/bin/bash", "/bin/sh") if os.path.exists(path)), "")
    if not shell:
        raise ToolError("the code was not run: no shell is installed on this machine")
    return Interpreter(shell, ())


def _ask(program: str, *arguments: str) -> str:
    try:
        done = subprocess.run(
            [program, *arguments], capture_output=True, text=True, timeout=_ASK_SECONDS, cwd=SAFE_FOLDER, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolError(f"the code was not run: {program} cannot be started ({type(error).__name__})") from None
    return done.stdout


def _needed(files: list[str], binaries: list[str]) -> tuple[str, ...]:
    """The existing files outside the system's folders, with the libraries that the binaries load."""
    outside = [binary for binary in binaries if not _in_system(binary)]
    paths = [*files, *(_libraries(outside) if outside else ())]
    paths += [os.path.realpath(path) for path in paths]  # a link in the system may lead out of it
    wanted = {os.path.abspath(path) for path in paths if os.path.exists(path) and not _in_system(path)}
    # A folder shows what is in it already: a second mount below it would fail where it is read-only.
    return tuple(sorted(path for path in wanted if not any(f"{path}/".startswith(f"{o}/") for o in wanted - {path})))


def _libraries(binaries: list[str]) -> list[str]:
    try:
        listed = subprocess.run(
            ["ldd", *binaries], capture_output=True, text=True, timeout=_ASK_SECONDS, cwd=SAFE_FOLDER, check=False
        )
    except (OSError, subprocess.TimeoutExpired):  # without `ldd` (musl) only what needs no such library runs
        return []
    return re.findall(r"=> (/[^=\n]+) \(0x", listed.stdout)


def _in_system(path: str) -> bool:
    return any(f"{os.path.abspath(path)}/".startswith(f"{folder}/") for folder in SYSTEM_FOLDERS)
