"""Code mode, the built-in tools, tools of MCP servers. More is in the folders of these parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit import NO_ADVICE, add, call, echo, go
from programs import python
from treadle import Agent, ScriptedModel
from treadle._tools.builtin import BUILTINS, builtin
from treadle.plugins import CodeMode

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def code(text: str) -> str:
    return f"I compute.\n```python\n{text}\n```"


def code_agent(*script: str) -> Agent:
    pytest.importorskip("pydantic_monty")
    return Agent(ScriptedModel(list(script), abilities={"tool_call": False}), [add], preset="code", plugins=NO_ADVICE)


def test_the_action_is_python_that_calls_tools():
    result = go(code_agent(code("x = add(a=1, b=2)\nprint(x * 10)"), "Final answer: The answer is 30.").run("q"))
    assert "30" in result.steps[-1].observation or any("30" in step.observation for step in result.steps)
    assert result.answer == "The answer is 30."


def test_variables_persist_and_errors_come_with_the_line():
    result = go(code_agent(code("x = 20"), code("y = x + 1\ny * 2"), code("1/0"), "Final answer: done").run("q"))
    seen = [step.observation for step in result.steps]
    assert any("42" in text for text in seen)
    assert any("ZeroDivisionError" in text and "line 1" in text for text in seen)


def test_imports_outside_the_list_are_refused():
    result = go(code_agent(code("import socket"), "Final answer: done").run("q"))
    assert "importing 'socket' is not allowed here" in result.steps[0].observation
    model = ScriptedModel([code("import re"), "Final answer: done"], abilities={"tool_call": False})
    plugins = [*NO_ADVICE, CodeMode(imports=["math"])]
    result = go(Agent(model, [add], preset="code", plugins=plugins).run("q"))
    assert "importing 're' is not allowed here" in result.steps[0].observation
    assert result.answer == "done"


def test_built_in_tools_are_all_there():
    assert {
        "retrieval", "duckduckgo", "google", "tavily", "baidu", "wikipedia", "arxiv", "pubmed", "qweather", "sql",
        "yahoo_finance", "code_exec", "files", "http_fetch", "calculator",
    } <= set(BUILTINS)  # fmt: skip
    calculator = builtin("calculator")
    result = go(Agent(ScriptedModel([call("calculator", expression="17 * 23 + 4"), "395"]), [calculator]).run("q"))
    assert "395" in result.steps[0].observation


async def test_tools_of_an_mcp_server(tmp_path: Path):
    pytest.importorskip("mcp.client")
    from treadle._plugins.mcp import McpTools
    from treadle._tools.mcp.client import McpConnection

    server = tmp_path / "server.py"
    server.write_text(
        "from mcp.server.mcpserver import MCPServer\n"
        "app = MCPServer('numbers')\n"
        "@app.tool()\n"
        "def double(n: int) -> int:\n"
        "    '''Twice.'''\n"
        "    return 2 * n\n"
        "app.run()\n"
    )
    program, *before = python()
    connection = McpConnection("numbers", command=program, args=[*before, str(server)])
    model = ScriptedModel([call("double", n=21), "42"])
    result = await Agent(model, [echo], plugins=[McpTools(connection)]).run("q")
    await connection.close()
    assert "42" in result.steps[0].observation
    assert "double" in {offered.name for offered in model.requests[0].tools}
