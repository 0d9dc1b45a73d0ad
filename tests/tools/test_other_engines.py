"""Tools of other engines in a toolkit of ours."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kit import go
from treadle import Agent, ScriptedModel, Toolkit

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / ".venv" / "peers" / "bin" / "python"
PROGRAM = '''
import warnings
warnings.simplefilter("ignore")
from agents import function_tool
from langchain_core.tools import tool as langchain_tool
from pydantic_ai import FunctionToolset, RunContext, Tool
from smolagents import tool as smolagents_tool
from treadle import Agent, ScriptedModel, Toolkit

@langchain_tool
def by_langchain(item: str, count: int = 1) -> float:
    """The price of an item."""
    return 40.0 * count

def by_pydantic_ai(item: str, count: int = 1) -> float:
    """The price of an item."""
    return 40.0 * count

async def in_a_toolset(item: str, count: int = 1) -> float:
    """The price of an item."""
    return 40.0 * count

def with_context(context: RunContext[int], item: str) -> float:
    """The price of an item."""
    return 40.0

@function_tool
def by_openai(item: str, count: int = 1) -> float:
    """The price of an item."""
    return 40.0 * count

@smolagents_tool
def by_smolagents(item: str, count: int = 1) -> float:
    """The price of an item.

    Args:
        item: what it is
        count: how many of them
    """
    return 40.0 * count

kit = Toolkit.of(by_langchain, Tool(by_pydantic_ai), FunctionToolset([in_a_toolset]), [by_openai, by_smolagents])
calls = [{"name": name, "args": {"item": "lamp", "count": 2}} for name in kit.names]
result = Agent(ScriptedModel([calls, "They agree."]), kit).run_sync("What do two lamps cost?")
for tool, step in zip(kit, result.steps, strict=True):
    print(tool.name, tool.description, tool.effect, step.observation)
try:
    Toolkit.of(Tool(with_context))
except Exception as error:
    print(error)
'''


@pytest.mark.skipif(not PEERS.exists(), reason="python3 tasks.py peers installs the other engines")
def test_tools_of_another_engine_where_it_is_installed(tmp_path: Path):
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "src")}
    command = [str(PEERS), "program.py"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    names = ("by_langchain", "by_pydantic_ai", "in_a_toolset", "by_openai", "by_smolagents")
    lines = done.stdout.splitlines()
    assert lines[:5] == [f"{name} The price of an item. unsafe 80.0" for name in names], done.stderr
    assert "RunContext" in lines[5]


SCHEMA = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}


class LangChainLike:
    name, description, tool_call_schema = "look", "Look it up.", SCHEMA

    async def ainvoke(self, arguments: dict[str, Any]) -> str:
        return f"seen {arguments['item']}"


class SmolagentsLike:
    name, description, output_type = "look", "Look it up.", "string"

    def __init__(self) -> None:
        self.inputs = {"item": {"type": "string", "description": "what"}, "deep": {"type": "any", "nullable": True}}

    def forward(self, item: str, deep: Any = None) -> str:
        return f"seen {item}"

    __call__ = forward


class SchemaLike:
    json_schema = SCHEMA

    @property
    def validator(self) -> Any:
        return self

    def validate_python(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return arguments

    async def call(self, arguments: dict[str, Any], context: None) -> str:
        return f"seen {arguments['item']}"


class PydanticLike:
    name, description, function_schema, takes_ctx = "look", "Look it up.", SchemaLike(), False


class ToolsetLike:
    """A set of tools, as it holds them."""

    def __init__(self) -> None:
        self.tools = {"look": PydanticLike()}

    def get_tools(self) -> None: ...


@pytest.mark.parametrize("item", [LangChainLike(), SmolagentsLike(), PydanticLike(), ToolsetLike()])
def test_what_has_the_attributes_of_such_a_tool_is_one(item: Any):
    model = ScriptedModel([{"name": "look", "args": {"item": "a lamp"}}, "Done."])
    result = go(Agent(model, [item]).run("Look."))
    assert result.steps[0].observation == "seen a lamp"
    (schema,) = model.requests[0].tools
    assert (schema.name, schema.description, schema.parameters["required"]) == ("look", "Look it up.", ["item"])


def test_a_toolkit_of_single_tools_lists_and_toolkits():
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    assert Toolkit.of(add, [LangChainLike()], Toolkit(["calculator"])).names == ("add", "look", "calculator")
