"""Our client against the reference servers and the conformance suite from npm.

`TREADLE_TEST_NPM` names the folder in which the npm packages are kept.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kit import call, go
from node_programs import node_and_npm
from treadle import Agent, ScriptedModel
from treadle._plugins.mcp import McpTools
from treadle._tools.mcp.client import McpConnection
from treadle._types.messages import ImagePart, Message

pytest.importorskip("mcp")
pytestmark = [pytest.mark.net, pytest.mark.slow, pytest.mark.timeout(300)]
PACKAGES = [
    "@modelcontextprotocol/server-everything",
    "@modelcontextprotocol/server-filesystem",
    "@modelcontextprotocol/server-memory",
    "@modelcontextprotocol/conformance@0.1.16",
    "node@22",
]
SOURCE = str(Path(__file__).resolve().parents[3] / "src")


@pytest.fixture(scope="module")
def modules() -> Path:
    folder = Path(os.environ.get("TREADLE_TEST_NPM") or Path.home() / ".cache" / "treadle-tests" / "npm")
    if not (folder / "node_modules" / ".bin" / "mcp-server-everything").exists():
        node, npm = node_and_npm()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}')
        subprocess.run(
            [*npm, "install", "--no-audit", "--no-fund", *PACKAGES],
            cwd=folder,
            env={**os.environ, "PATH": f"{Path(node).parent}{os.pathsep}{os.environ['PATH']}"},
            check=True,
            capture_output=True,
        )
    return folder / "node_modules"


def server(modules: Path, name: str, *args: str, **options: Any) -> McpConnection:
    return McpConnection(
        name,
        command=str(modules / ".bin" / "node"),
        args=[str((modules / ".bin" / f"mcp-server-{name}").resolve()), *args],
        **options,
    )


def texts(response: Any) -> str:
    return "\n".join(getattr(piece, "text", "") for piece in response.observation)


def test_everything(modules: Path):
    prompts: list[str] = []

    async def elicit(message: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
        prompts.append(message)
        return None

    async def sample(messages: Sequence[Message], max_tokens: int) -> str:
        prompts.append(str(messages[-1]))
        return "sampled words"

    async def main() -> None:
        everything = server(modules, "everything", elicitation=elicit, sampling=sample)
        names = {tool.name for tool in await everything.tools()}
        assert texts(await everything.call("echo", {"message": "hello"})) == "Echo: hello"
        assert "5" in texts(await everything.call("get-sum", {"a": 2, "b": 3}))
        assert any(isinstance(piece, ImagePart) for piece in (await everything.call("get-tiny-image", {})).observation)
        shown: list[str] = []

        class Context:
            run_id = call_id = idempotency_key = "x"
            run = None

            def output(self, text: str) -> None:
                shown.append(text)

        await everything.call("trigger-long-running-operation", {"duration": 1, "steps": 2}, Context())
        assert len(shown) == 2
        assert "sampled words" in texts(
            await everything.call("trigger-sampling-request", {"prompt": "hi", "maxTokens": 10})
        )
        assert "declin" in texts(await everything.call("trigger-elicitation-request", {})).lower()
        assert len(prompts) == 2
        assert (await everything.call("get-sum", {"a": "x"})).error
        assert {"get-structured-content", "get-resource-links"} <= names

    go(main(), 120)


def test_filesystem_and_memory_in_one_run(modules: Path, tmp_path: Path):
    (tmp_path / "note.txt").write_text("the code is 7261")
    entity = {"name": "code", "entityType": "number", "observations": ["7261"]}
    model = ScriptedModel(
        [
            call("read_text_file", path=str(tmp_path / "note.txt")),
            call("create_entities", entities=[entity]),
            call("read_graph"),
            "done",
        ]
    )
    memory = server(modules, "memory", env={"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")})
    agent = Agent(
        model,
        plugins=[McpTools(server(modules, "filesystem", str(tmp_path))), McpTools(memory)],
        selection_threshold=None,
    )
    result = go(agent.run("q"), 120)
    assert [step.error for step in result.steps] == ["", "", ""]
    assert "7261" in result.steps[0].observation
    assert "7261" in result.steps[2].observation


@pytest.mark.parametrize("scenario", ["initialize", "tools_call", "sse-retry", "elicitation-sep1034-client-defaults"])
def test_conformance_of_our_client(scenario: str, modules: Path, tmp_path: Path):
    client = shlex.join([sys.executable, str(Path(__file__).with_name("conformance_client.py"))])
    suite = modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    done = subprocess.run(
        [
            str(modules / ".bin" / "node"),
            str(suite),
            "client",
            "--command",
            client,
            "--scenario",
            scenario,
            "--timeout",
            "60000",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "OVERALL: PASSED" in done.stdout + done.stderr, done.stdout[-2000:] + done.stderr[-2000:]
