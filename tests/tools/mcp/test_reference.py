"""Our client against the reference servers from npm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kit import call, go
from node_programs import node_and_npm
from tools.calls import Context
from treadle import Agent, ScriptedModel
from treadle._plugins.mcp import McpTools
from treadle._tools.mcp.client import McpConnection
from treadle._types.messages import ImagePart, Message

pytest.importorskip("mcp")
pytestmark = [pytest.mark.net, pytest.mark.slow]


def server(modules: Path, name: str, *args: str, **options: Any) -> McpConnection:
    return McpConnection(
        name,
        command=node_and_npm()[0],
        args=[str((modules / ".bin" / f"mcp-server-{name}").resolve()), *args],
        **options,
    )


def texts(response: Any) -> str:
    return "\n".join(getattr(piece, "text", "") for piece in response.observation)


async def test_everything(modules: Path):
    prompts: list[str] = []

    async def elicit(message: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
        prompts.append(message)
        return None

    async def sample(messages: Sequence[Message], max_tokens: int) -> str:
        prompts.append(str(messages[-1]))
        return "sampled words"

    everything = server(modules, "everything", elicitation=elicit, sampling=sample)
    names = {tool.name for tool in await everything.tools()}
    assert texts(await everything.call("echo", {"message": "hello"})) == "Echo: hello"
    assert "5" in texts(await everything.call("get-sum", {"a": 2, "b": 3}))
    assert any(isinstance(piece, ImagePart) for piece in (await everything.call("get-tiny-image", {})).observation)
    context = Context()
    await everything.call("trigger-long-running-operation", {"duration": 1, "steps": 2}, context)
    assert len(context.pieces) == 2
    assert "sampled words" in texts(
        await everything.call("trigger-sampling-request", {"prompt": "hi", "maxTokens": 10})
    )
    assert "declin" in texts(await everything.call("trigger-elicitation-request", {})).lower()
    assert len(prompts) == 2
    assert (await everything.call("get-sum", {"a": "x"})).error
    assert {"get-structured-content", "get-resource-links"} <= names


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
