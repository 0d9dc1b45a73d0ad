"""Our client in the official conformance suite: every client scenario it has."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from node_programs import node_and_npm
from programs import python

pytest.importorskip("mcp")
pytestmark = [pytest.mark.net]
SOURCE = str(Path(__file__).resolve().parents[3] / "src")
CORE = ("tools_call", "auth/scope-step-up")
"""Run in every test run that may start servers."""
OTHERS = """
initialize elicitation-sep1034-client-defaults sse-retry
auth/metadata-default auth/metadata-var1 auth/metadata-var2 auth/metadata-var3 auth/basic-cimd
auth/scope-from-www-authenticate auth/scope-from-scopes-supported auth/scope-omitted-when-undefined
auth/scope-retry-limit
auth/token-endpoint-auth-basic auth/token-endpoint-auth-post auth/token-endpoint-auth-none auth/pre-registration
auth/2025-03-26-oauth-metadata-backcompat auth/2025-03-26-oauth-endpoint-fallback auth/resource-mismatch
auth/offline-access-scope auth/offline-access-not-supported
auth/client-credentials-jwt auth/client-credentials-basic auth/cross-app-access-complete-flow
""".split()


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


@pytest.mark.parametrize(
    "scenario", [*CORE, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)], ids=lambda name: str(name)
)
def test_conformance_of_our_client(scenario: str, modules: Path, tmp_path: Path):
    client = shlex.join(
        [
            *python("mcp.client.auth", "treadle._tools.mcp.client"),
            str(Path(__file__).with_name("conformance_client.py")),
        ]
    )
    said = suite(modules, "client", "--command", client, "--scenario", scenario, "--timeout", "120000", home=tmp_path)
    assert "OVERALL: PASSED" in said, said[-4000:]


@pytest.mark.slow
def test_no_scenario_of_the_suite_is_left_out(modules: Path, tmp_path: Path):
    listed = suite(modules, "list", home=tmp_path).partition("Client scenarios")[2]
    names = {line.split()[1] for line in listed.splitlines() if line.strip().startswith("- ")}
    assert names == {*CORE, *OTHERS}
