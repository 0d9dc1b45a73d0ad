"""The npm AI SDK against the OpenAI-compatible face."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kit import add, call
from node_programs import node_and_npm
from server.serving import PacedModel, has_results, serving
from treadle import Agent

PACKAGES = ("ai@7.0.169", "@ai-sdk/openai-compatible@3.0.90")


@pytest.mark.net
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_ai_sdk(tmp_path: Path):
    node, npm = node_and_npm()
    (tmp_path / "package.json").write_text('{"private": true, "type": "module"}')
    env = {**os.environ, "PATH": f"{Path(node).parent}{os.pathsep}{os.environ['PATH']}"}
    installed = subprocess.run(
        [*npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
    )
    if installed.returncode:
        pytest.skip(f"npm cannot install the AI SDK: {installed.stderr[-300:]}")
    shutil.copy(Path(__file__).parent / "ai_sdk.mjs", tmp_path)
    answer = "Two and three make five, as far as anybody knows."
    script = lambda r: answer if r.component == "synthesis" else "5" if has_results(r) else call("add", a=2, b=3)  # noqa: E731
    agent = Agent(PacedModel(script, chunk=6, pause=0.04), tools=[add], answer="synthesize")
    token = "a-token-of-some-length"
    with serving({"adder": agent}, tokens={token: "ann"}) as client:
        done = subprocess.run(
            [node, "ai_sdk.mjs", f"{client.address}/v1", token],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        output = json.loads(done.stdout)
    assert output["whole"] == answer
    assert output["finish"] == "stop"
    assert output["tokens"] > 0
    assert output["streamedTokens"] > 0
    assert "".join(output["pieces"]) == answer
    assert len(output["pieces"]) > 2, "it did not stream"
    assert output["refused"].startswith("404 ")
    assert "expected one of: adder" in output["refused"]
