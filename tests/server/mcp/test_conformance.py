"""Our server in the official conformance suite: every server scenario it has."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from programs import python
from tools.mcp.conftest import modules as modules  # the programs from npm
from tools.mcp.test_conformance import suite

pytest.importorskip("mcp")
pytestmark = [pytest.mark.net]
SCENARIOS = 32


@pytest.fixture
def address() -> Iterator[str]:
    program = str(Path(__file__).with_name("conformance_server.py"))
    with subprocess.Popen([*python(), program], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.kill()


def test_conformance_of_our_server(address: str, modules: Path, tmp_path: Path):
    said = suite(modules, "server", "--url", address, "--suite", "all", home=tmp_path)
    passed = re.findall(r"^✓ (\S+): \d+ passed, 0 failed", said, re.MULTILINE)
    assert len(set(passed)) == SCENARIOS, said[-4000:]
    assert re.search(r"Total: \d+ passed, 0 failed", said)
