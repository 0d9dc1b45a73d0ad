"""The programs from npm that the MCP tests run; `TREADLE_TEST_NPM` names the folder in which they are kept."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from node_programs import node_and_npm

PACKAGES = [
    "@modelcontextprotocol/server-everything",
    "@modelcontextprotocol/server-filesystem",
    "@modelcontextprotocol/server-memory",
    "@modelcontextprotocol/conformance@0.1.16",
]


@pytest.fixture(scope="session")
def modules() -> Path:
    folder = Path(os.environ.get("TREADLE_TEST_NPM") or Path.home() / ".cache" / "treadle-tests" / "npm")
    if not (folder / "node_modules" / ".bin" / "mcp-server-everything").exists():
        node, npm = node_and_npm()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}')
        done = subprocess.run(
            [*npm, "install", "--no-audit", "--no-fund", *PACKAGES],
            cwd=folder,
            env={**os.environ, "PATH": f"{Path(node).parent}{os.pathsep}{os.environ['PATH']}"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-2000:]
    return folder / "node_modules"
