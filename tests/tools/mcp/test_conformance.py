"""Our client in the official conformance suite: every client scenario it has."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from node_programs import node_and_npm
from programs import python

pytest.importorskip("mcp")
pytestmark = [pytest.mark.net]
SOURCE = str(Path(__file__).resolve().parents[3] / "src")
TIMED = "sse-retry"
"""Fails a client that comes back late, as it may beside all the others."""


def suite(modules: Path, *args: str, home: Path) -> str:
    program = modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    done = subprocess.run(
        [node_and_npm()[0], str(program), *args],
        cwd=home,
        env={**os.environ, "PYTHONPATH": SOURCE, "TREADLE_STATE": str(home / "state")},
        capture_output=True,
        text=True,
        timeout=200,
    )
    return done.stdout + done.stderr


def client(modules: Path, home: Path, *which: str) -> str:
    program = str(Path(__file__).with_name("conformance_client.py"))
    command = shlex.join([*python(), program])
    return suite(modules, "client", "--command", command, *which, "--timeout", "120000", home=home)


def test_conformance_of_our_client(modules: Path, tmp_path: Path):
    said = client(modules, tmp_path, "--suite", "all")
    played = set(re.findall(r"^[✓✗] (\S+): \d+ passed", said, re.MULTILINE))
    passed = set(re.findall(r"^✓ (\S+): \d+ passed, 0 failed", said, re.MULTILINE))
    assert len(played) == 26, said[-8000:]
    assert passed | {TIMED} == played, said[-8000:]


def test_reconnecting_after_the_time_that_the_server_names(modules: Path, tmp_path: Path):
    said = client(modules, tmp_path, "--scenario", TIMED)
    assert "OVERALL: PASSED" in said, said[-4000:]
