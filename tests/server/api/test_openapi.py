"""The OpenAPI document says what the server does, and the server does nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kit import add, call
from server.serving import has_results, send_mail, serving
from treadle import Agent, ScriptedModel
from treadle._server.api.openapi import document
from treadle._server.app import OPERATIONS

CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance"]

EXAMPLES = 40 if os.environ.get("TREADLE_LONG_TESTS") == "1" else 4
"""For each route: the same ones each time, so that more of them find more only where the server has changed."""


def test_it_is_complete():
    described = document(OPERATIONS, needs_token=True)
    text = json.dumps(described)
    assert len(described["paths"]) == len({operation.path for operation in OPERATIONS})
    references = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert references <= set(described["components"]["schemas"])
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"], (method, path)
            assert {"400", "401", "403", "429", "503"} <= set(operation["responses"])
            named = {parameter["name"] for parameter in operation.get("parameters", []) if parameter["in"] == "path"}
            assert named == {part[1:-1] for part in path.split("/") if part.startswith("{")}
    assert len({o["operationId"] for p in described["paths"].values() for o in p.values()}) == len(OPERATIONS)


def _agent() -> Agent:
    def script(request: Any) -> Any:
        if has_results(request):
            return "Done."
        return (
            [call("add", a=1, b=2), call("send_mail", to="a", text="b")]
            if len(request.messages) % 2
            else call("add", a=1, b=2)
        )

    return Agent(ScriptedModel(script), tools=[add, send_mail])


@pytest.mark.slow
@pytest.mark.parametrize("needs_token", [pytest.param(False, marks=pytest.mark.long), True], ids=["open", "tokens"])
@pytest.mark.parametrize("phases", ["examples,fuzzing", pytest.param("coverage", marks=pytest.mark.long)])
def test_schemathesis_finds_nothing(needs_token: bool, phases: str, tmp_path: Path):
    pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    token = "a-token-of-some-length"
    with serving(_agent(), tokens={token: "ann"} if needs_token else None) as client:
        user = client.as_user(token) if needs_token else client
        for question in ("one", "two"):
            user.start(question, run_id=f"known-{question}-run")
        # One worker: CPython 3.11 cannot parse source in two threads ("AST constructor recursion depth mismatch").
        options = f"--max-examples {EXAMPLES} --workers 1 --seed 1 --request-timeout 60 --suppress-health-check all"
        options += f" --phases {phases}"
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{client.address}/openapi.json", *options.split()]
        command += ["--checks", ",".join(CHECKS)]
        if needs_token:
            command += ["--header", f"Authorization: Bearer {token}"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=850)
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        assert user.get("/health")["status"] == "ok"
