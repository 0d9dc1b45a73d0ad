"""`treadle version`: prints versions."""

from __future__ import annotations

import argparse
from typing import Any


def register(commands: Any) -> None:
    commands.add_parser("version", description="Print the versions of Treadle and of what it runs on.")


def run(args: argparse.Namespace) -> int:
    import platform

    from treadle._version import __version__

    print(f"treadle {__version__} (Python {platform.python_version()}, {platform.system()} {platform.machine()})")
    return 0
