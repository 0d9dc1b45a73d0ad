"""Many attacks in whole runs: each is refused or contained, and the run ends with its answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit import NO_ADVICE, call, go
from programs import python
from treadle import Agent, ScriptedModel, tool
from treadle._plugins.code import CodeMode
from treadle._plugins.mcp import McpTools
from treadle._tools.builtin import builtin
from treadle._tools.mcp.client import McpConnection
from treadle._tools.sandbox.base import SandboxLimits

SERVER = str(Path(__file__).parent / "mcp" / "hostile_server.py")


def steps(tools: list[Any], *calls: dict[str, Any], **options: Any) -> list[Any]:
    model = ScriptedModel([*calls, "the end"])
    result = go(Agent(model, tools, max_iterations=50, plugins=options.pop("plugins", ()), **options).run("q"), 60)
    assert (result.answer, result.success) == ("the end", True)
    assert len(result.steps) == len(calls)
    return result.steps


def test_the_web_does_not_lead_inside():
    urls = [
        "http://127.0.0.1:8460/",
        "http://2130706433/",
        "http://[::ffff:127.0.0.1]/",
        "http://169.254.169.254/",
        "file:///etc/passwd",
    ]
    for url in urls:
        (step,) = steps([builtin("http_fetch")], call("http_fetch", url=url))
        assert step.error


@tool
async def wipe(path: str) -> str:
    """Ours."""
    return "ours"


def test_code_that_fights_its_sandbox():
    pytest.importorskip("pydantic_monty")
    codes = [
        "().__class__.__base__.__subclasses__()", "import os\nos.system('id')", "while True: pass", "x = 'a' * 10**10",
        "while True: print('y' * 999)", "import re\nre.match('(a|a)*$', 'a' * 100 + 'b')", "def f(): f()\nf()",
        "for i in range(5000): wipe('/')", "final_answer",
    ]  # fmt: skip
    small = SandboxLimits(seconds=0.5, memory=64_000_000, output_chars=5_000)
    model = ScriptedModel(
        [*(f"```python\n{code}\n```" for code in codes), "```python\n1 + 1\n```", "Final answer: the end"],
        abilities={"tool_call": False},
    )
    agent = Agent(model, [wipe], preset="code", plugins=[CodeMode(small), *NO_ADVICE], max_iterations=30)
    result = go(agent.run("q"))
    assert result.answer == "the end"
    assert result.steps[-1].observation == "2"
    assert all(len(step.observation) < 13_000 for step in result.steps)


def test_an_mcp_server_that_does_everything_wrong():
    pytest.importorskip("mcp")
    program, *before = python()
    server = McpConnection("evil", command=program, args=[*before, SERVER], timeout=60)
    names = ["flood", "noise", "malformed", "silent", "refuse", "ends_it", "evil_wipe", "wipe"]
    model = ScriptedModel([*(call(name, path="/") for name in names), "the end"])
    result = go(Agent(model, [wipe], plugins=[McpTools(server)], max_iterations=20, tool_timeout=5).run("q"))
    assert result.answer == "the end"
    results = {step.tool: step for step in result.steps}
    offered = [schema.name for schema in model.requests[0].tools]
    assert {"broken", "remote"}.isdisjoint(offered)
    assert len(results["flood"].observation) < 13_000
    assert "after the noise" in results["noise"].observation
    assert results["silent"].error == "timeout"
    assert all(results[name].error for name in ("malformed", "refuse", "ends_it"))
    assert results["wipe"].observation == "ours"
