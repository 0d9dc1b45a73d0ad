"""The effect whose number is counted, for the programs beside this one."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def look_up(item: str, mode: str) -> float:
    """Count one effect; with the mode `killed`, the process dies right after it."""
    with Path("effects.txt").open("a") as file:
        file.write(item + "\n")
    if mode == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    return 40.0
