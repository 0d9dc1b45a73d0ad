"""The tools of other engines as ours: LangChain, pydantic-ai, openai-agents, smolagents.

They are known by their attributes; nothing of those engines is imported unless a tool of theirs is given. None of them
says what its tools change, so each is `unsafe` until `tool.replace(effect=...)` says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, cast

import msgspec

from treadle._tools.base import Tool
from treadle._types.errors import ConfigError


def tool_of(item: Any) -> Tool | None:
    """Our tool for one of another engine; None for anything else."""
    if isinstance(item, type):
        return None
    for marks, make in _KINDS:
        if all(hasattr(item, mark) for mark in marks):
            return make(item)
    return None


def tools_in(item: Any) -> Iterable[Any]:
    """The tools of a set (an OpenAPI document, a pydantic-ai `FunctionToolset`); else the item itself."""
    if isinstance(item, dict):
        document = "openapi" in item or "swagger" in item
        return import_module("treadle._tools.builtin.services.openapi").openapi(item) if document else [item]
    tools: Any = getattr(item, "tools", None)
    if isinstance(tools, dict) and hasattr(item, "get_tools") and not isinstance(item, type):
        return cast("dict[str, Any]", tools).values()
    return [item]


def _langchain(item: Any) -> Tool:
    schema: Any = item.tool_call_schema
    parameters: dict[str, Any] = (
        cast("dict[str, Any]", schema) if isinstance(schema, dict) else schema.model_json_schema()
    )

    async def execute(**arguments: Any) -> Any:
        return await item.ainvoke(arguments)

    return _made(item, parameters, execute)


def _pydantic_ai(item: Any) -> Tool:
    schema = item.function_schema
    if item.takes_ctx:
        raise ConfigError(
            f"tool {item.name!r} takes pydantic-ai's RunContext, which only its own agents have: give a function "
            "without it, or one that takes Treadle's ToolContext"
        )

    async def execute(**arguments: Any) -> Any:
        return await schema.call(schema.validator.validate_python(arguments), None)

    return _made(item, schema.json_schema, execute)


def _openai_agents(item: Any) -> Tool:
    context: Any = import_module("agents.tool_context").ToolContext  # it is there: the tool was made with it

    async def execute(**arguments: Any) -> Any:
        text = msgspec.json.encode(arguments).decode()
        around = context(context=None, tool_name=item.name, tool_call_id=item.name, tool_arguments=text)
        return await item.on_invoke_tool(around, text)

    return _made(item, item.params_json_schema, execute)


def _smolagents(item: Any) -> Tool:
    inputs: dict[str, dict[str, Any]] = item.inputs
    properties = {
        name: {key: value for key, value in field.items() if key != "nullable" and (key, value) != ("type", "any")}
        for name, field in inputs.items()
    }
    required = [name for name, field in inputs.items() if not field.get("nullable")]

    def execute(**arguments: Any) -> Any:  # runs in a thread, as it does there
        return item(**arguments)

    return _made(item, {"type": "object", "properties": properties, "required": required}, execute)


def _made(item: Any, parameters: dict[str, Any], execute: Callable[..., Any]) -> Tool:
    return Tool(item.name, item.description or "", parameters, execute)


_KINDS: tuple[tuple[tuple[str, ...], Callable[[Any], Tool]], ...] = (
    (("tool_call_schema", "ainvoke", "name"), _langchain),
    (("function_schema", "takes_ctx", "name"), _pydantic_ai),
    (("params_json_schema", "on_invoke_tool", "name"), _openai_agents),
    (("inputs", "output_type", "forward", "name"), _smolagents),
)
"""Which attributes a tool of each engine has."""
