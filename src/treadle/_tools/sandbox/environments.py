"""Python environments for code: made once for a set of packages, and used again by every run that names the same."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp

from treadle._python_process import SAFE_FOLDER
from treadle._types.errors import ConfigError
from treadle._types.paths import state_folder

_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[\w,.-]+\])?([=<>!~]=?[\w.*+!-]+(,[=<>!~]=?[\w.*+!-]+)*)?")
_SECONDS = 600.0


def checked_packages(packages: Sequence[str]) -> tuple[str, ...]:
    """Names of packages, with versions or without; anything else (a path, an option) is refused."""
    names = (packages,) if isinstance(packages, str) else tuple(packages)
    for name in names:
        if not _REQUIREMENT.fullmatch(name):
            raise ConfigError(f"packages: {name!r} is not the name of a package, such as 'pandas' or 'pandas==2.2.3'")
    return names


def python_with(packages: Sequence[str]) -> str:
    """The interpreter of an environment that has these packages; made when there is none yet. It takes a while."""
    names = checked_packages(packages)
    if not names:
        return sys.executable
    key = hashlib.sha256("\n".join([sys.version, *sorted(names)]).encode()).hexdigest()[:16]
    folder = state_folder() / "environments" / key
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.exists():
        _make(folder, names)
    return str(python)


def _make(folder: Path, packages: Sequence[str]) -> None:
    """Beside its place first: what was begun and not finished is never used, and two that make it do no harm."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = Path(mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
    try:
        made = lock / "env"
        python = made / ("Scripts" if os.name == "nt" else "bin") / "python"
        if uv := shutil.which("uv"):
            _run([uv, "venv", "--python", sys.executable, str(made)])
            _run([uv, "pip", "install", "--python", str(python), *packages])
        else:
            _run([sys.executable, "-I", "-m", "venv", str(made)])
            _run([str(python), "-I", "-m", "pip", "install", "--disable-pip-version-check", "-q", *packages])
        # An environment has its own place written into its programs, and none of them is used: only its packages are.
        if not folder.exists():
            os.replace(lock / "env", folder)
    except OSError:
        if not folder.exists():
            raise
    finally:
        shutil.rmtree(lock, ignore_errors=True)


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, cwd=SAFE_FOLDER, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"packages: the environment could not be made: {error}") from None
    if done.returncode:
        last = [line for line in done.stderr.strip().splitlines() if line.strip()][-1:] or ["it failed"]
        raise ConfigError(f"packages: the environment could not be made: {last[0][:300]}")
