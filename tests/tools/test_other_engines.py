"""Tools of other engines in a toolkit of ours."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kit import call, go
from treadle import Agent, ScriptedModel, Tool, Toolkit
from treadle._types.errors import ConfigError

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
RULES = '''
import asyncio, warnings
warnings.simplefilter("ignore")
from agents import ToolGuardrailFunctionOutput, function_tool, tool_input_guardrail
from langchain_core.tools import BaseTool, ToolException, tool as langchain_tool
from pydantic_ai import CombinedToolset, FunctionToolset, ModelRetry, Tool
from smolagents import tool as smolagents_tool
from treadle import Agent, ScriptedModel, Toolkit
from treadle._tools.versions import version_of

def tried(tool, name):
    run = Agent(ScriptedModel([{"name": name, "args": {"item": "lamp"}}, "done"]), Toolkit.of(tool)).run_sync("?")
    return run.stop_reason, *(f"{step.error}: {step.observation}" for step in run.steps)

def pay(item: str) -> str:
    """Pay."""
    raise SystemExit("it ran")

async def late(item: str) -> str:
    """Come late."""
    await asyncio.sleep(60)

def fail(kind):
    def fail(item: str) -> str:
        """Fail."""
        raise kind("not of lamps")
    return fail

async def sometimes(context, args, call_id):
    return True

for tool in (
    Tool(pay, requires_approval=True),
    FunctionToolset([pay], requires_approval=True),
    FunctionToolset([pay]).approval_required(),
    function_tool(pay, needs_approval=True),
    function_tool(pay, needs_approval=sometimes),
):
    print(*tried(tool, "pay"))
print(*tried(function_tool(late, timeout=0.01), "late"))
print(*tried(Tool(late, timeout=0.01), "late"))
print(*tried(Tool(fail(ModelRetry)), "fail"))
print(*tried(langchain_tool(fail(ToolException)), "fail"))
print(*tried(function_tool(fail(ValueError)), "fail"))
print(*tried(function_tool(fail(ValueError), failure_error_function=lambda context, error: f"as {error}"), "fail"))
print(Toolkit.of(function_tool(pay, is_enabled=False)).names)
print(Toolkit.of(CombinedToolset([FunctionToolset([pay]).prefixed("their"), FunctionToolset([late])])).names)

@tool_input_guardrail
def guard(data):
    return ToolGuardrailFunctionOutput.allow()

for make in (
    lambda: function_tool(pay, is_enabled=lambda context, agent: True),
    lambda: function_tool(pay, tool_input_guardrails=[guard]),
    lambda: Tool(pay, prepare=lambda context, tool: tool),
    lambda: Tool(pay, args_validator=lambda context, item: None),
    lambda: FunctionToolset([pay]).filtered(lambda context, tool: True),
):
    try:
        print(Toolkit.of(make()).names)
    except Exception as error:
        print(error)

def of_release(number):
    """The code differs, nothing else."""
    if number == 1:
        def price(item: str) -> float:
            """The price.

            Args:
                item: what it is
            """
            return 40.0
    else:
        def price(item: str) -> float:
            """The price.

            Args:
                item: what it is
            """
            return 41.0
    class Price(BaseTool):
        name: str = "price"
        description: str = "The price."
        _run = (lambda self, item: 40.0) if number == 1 else (lambda self, item: 41.0)
    tools = langchain_tool(price), Price(), Tool(price), function_tool(price)
    return [version_of(next(iter(Toolkit.of(tool)))) for tool in tools]

print([one == other for one, other in zip(of_release(1), of_release(1))])
print([one == other for one, other in zip(of_release(1), of_release(2))])
'''


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(program, "utf-8")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT / "src")}
    command = [str(PEERS), "program.py"]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)


installed = pytest.mark.skipif(not PEERS.exists(), reason="python3 tasks.py peers installs the other engines")


@installed
def test_what_their_tools_ask_for_where_it_is_installed(tmp_path: Path):
    """Approval, time-outs, words for the model; what only their own loop would look after is refused."""
    done = run(RULES, tmp_path)
    lines = done.stdout.splitlines()
    assert lines[:5] == ["paused"] * 5, done.stderr
    assert lines[5:7] == ["answer timeout: Tool 'late' timed out after 0.01 s."] * 2
    assert lines[7:9] == ["answer exception: Tool 'fail' failed: not of lamps"] * 2
    assert lines[9:11] == [f"answer exception: Tool 'fail' failed: {why}" for why in ("ValueError", "as not of lamps")]
    assert lines[11:13] == ["()", "('their_pay', 'late')"]
    refused = ("its is_enabled", "its tool_input_guardrails", "its prepare", "its args_validator", "a FilteredToolset")
    assert [name in line for name, line in zip(refused, lines[13:18], strict=True)] == [True] * 5
    assert lines[18:] == [str([True] * 4), str([False] * 4)]


@installed
def test_tools_of_another_engine_where_it_is_installed(tmp_path: Path):
    done = run(PROGRAM, tmp_path)
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


class Around:
    """A toolset around another."""

    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)

    def get_tools(self) -> None: ...


def test_what_such_a_tool_asks_for_holds_here():
    def made(item: Any, **fields: Any) -> Tool[..., Any]:
        vars(item).update(fields)
        return next(iter(Toolkit.of(item)))

    asking = made(PydanticLike(), requires_approval=True, timeout=2.0)
    assert (asking.approval, asking.timeout) == ("ask", 2.0)
    assert made(Around(wrapped=Around(toolsets=[ToolsetLike()]), prefix="their")).name == "their_look"
    assert made(Around(wrapped=ToolsetLike(), approval_required_func=made)).approval == "ask"
    with pytest.raises(ConfigError, match="its prepare needs a RunContext"):
        made(PydanticLike(), prepare=made)
    with pytest.raises(ConfigError, match="its own engine's runs only"):
        made(Around(wrapped=ToolsetLike(), filter_func=made))
    direct = made(LangChainLike(), return_direct=True)
    assert go(Agent(ScriptedModel([call("look", item="a lamp")]), [direct]).run("?")).answer == "seen a lamp"


def test_a_toolkit_of_single_tools_lists_and_toolkits():
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    assert Toolkit.of(add, [LangChainLike()], Toolkit(["calculator"])).names == ("add", "look", "calculator")
