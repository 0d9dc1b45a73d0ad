"""Where Treadle keeps what it remembers when it is not told."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def state_folder() -> Path:
    """`$TREADLE_STATE`, or the place this system has for it. Not created."""
    if given := os.environ.get("TREADLE_STATE"):
        return Path(given).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "treadle"
