"""Where Treadle keeps what it remembers, and what can be had again, when it is not told."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def state_folder() -> Path:
    """`$TREADLE_STATE`, or the place this system has for it. Not created."""
    return _folder(
        os.environ.get("TREADLE_STATE"), "Application Support", os.environ.get("XDG_STATE_HOME"), ".local/state"
    )


def cache_folder() -> Path:
    """`$TREADLE_CACHE`, or the place this system has for files that can be downloaded or made again. Not created."""
    return _folder(os.environ.get("TREADLE_CACHE"), "Caches", os.environ.get("XDG_CACHE_HOME"), ".cache")


def _folder(given: str | None, in_library: str, xdg: str | None, in_home: str) -> Path:
    if given:
        return Path(given).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / in_library
    else:
        base = xdg or Path.home() / in_home
    return Path(base) / "treadle"


def write_private(path: Path, data: bytes) -> None:
    """Replace a file that only its owner may read, as a whole: who reads sees the old one or the new one."""
    import secrets

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
