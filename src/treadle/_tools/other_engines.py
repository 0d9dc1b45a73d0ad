"""The tools of other engines as ours: LangChain, pydantic-ai, openai-agents, smolagents.

They are known by their attributes; nothing of those engines is imported unless a tool of theirs is given. None of them
says what its tools change, so each is `unsafe` until `tool.replace(effect=...)` says otherwise. One that needs approval
there needs it here; what only the loop of its engine would look after is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from inspect import isawaitable
from typing import Any, cast

import msgspec

from treadle._tools.base import Tool, ToolResponse
from treadle._types.errors import ConfigError, ToolError

MADE_OF = "treadle_made_of"
"""The attribute of a function with the one of the user's that it calls: it is what a tool's version is about."""
_SECONDS = 30.0
"""For a call, where its engine gives it no time-out."""


def tool_of(item: Any) -> Tool | None:
    """Our tool for one of another engine; None for anything else."""
    if isinstance(item, type):
        return None
    for marks, make in _KINDS:
        if all(hasattr(item, mark) for mark in marks):
            return make(item)
    return None


def tools_in(item: Any) -> Iterable[Any]:
    """The tools of a set (an OpenAPI document, a toolset of pydantic-ai); else the item itself."""
    if isinstance(item, dict):
        document = "openapi" in item or "swagger" in item
        return import_module("treadle._tools.builtin.services.openapi").openapi(item) if document else [item]
    if hasattr(item, "params_json_schema") and getattr(item, "is_enabled", True) is False:
        return []
    return _in_toolset(item) if hasattr(item, "get_tools") and not isinstance(item, type) else [item]


def _in_toolset(toolset: Any) -> Iterable[Any]:
    tools: Any = getattr(toolset, "tools", None)
    if isinstance(tools, dict):
        return cast("dict[str, Any]", tools).values()
    if inside := getattr(toolset, "toolsets", ()):
        return [each for one in inside for each in tools_in(one)]
    wrapped = [tool_of(each) or each for each in tools_in(getattr(toolset, "wrapped", None))]
    if hasattr(toolset, "prefix"):
        return [each.replace(name=f"{toolset.prefix}_{each.name}") for each in wrapped]
    if hasattr(toolset, "approval_required_func"):
        return [each.replace(approval="ask") for each in wrapped]
    kind = type(toolset).__name__
    raise ConfigError(f"what a {kind} offers is known to its own engine's runs only: give the tools or functions in it")


def _langchain(item: Any) -> Tool:
    schema: Any = item.tool_call_schema
    parameters: dict[str, Any] = (
        cast("dict[str, Any]", schema) if isinstance(schema, dict) else schema.model_json_schema()
    )

    messages = _told_to_the_model("langchain_core.tools", "ToolException")

    async def execute(**arguments: Any) -> Any:
        try:
            result = await item.ainvoke(arguments)
            return ToolResponse(result, final_answer=True) if getattr(item, "return_direct", False) else result
        except messages as error:
            raise ToolError(str(error)) from error

    names = ("coroutine", "func", "_run", "ainvoke")
    return _made(item, parameters, execute, next(filter(None, (getattr(item, name, None) for name in names))))


def _pydantic_ai(item: Any) -> Tool:
    schema = item.function_schema
    _needs_nothing_else(item, "pydantic-ai", "takes_ctx", "prepare", "args_validator")
    messages = _told_to_the_model("pydantic_ai.exceptions", "ModelRetry", "ToolFailed")

    async def execute(**arguments: Any) -> Any:
        try:
            return await schema.call(schema.validator.validate_python(arguments), None)
        except messages as error:
            raise ToolError(str(error)) from error

    asks, seconds = getattr(item, "requires_approval", False), getattr(item, "timeout", None)
    return _made(item, schema.json_schema, execute, getattr(schema, "function", schema.call), asks, seconds)


def _openai_agents(item: Any) -> Tool:
    _needs_nothing_else(item, "openai-agents", "tool_input_guardrails", "tool_output_guardrails")
    if getattr(item, "is_enabled", True) is not True:
        _needs_nothing_else(item, "openai-agents", "is_enabled")
    context: Any = import_module("agents.tool_context").ToolContext  # it is there: the tool was made with it
    invoke = getattr(item.on_invoke_tool, "_invoke_tool_impl", item.on_invoke_tool)  # a failure is raised, not a result
    by_default = getattr(item, "_use_default_failure_error_function", True)
    explain = None if by_default else getattr(item, "_failure_error_function", None)

    async def execute(**arguments: Any) -> Any:
        text = msgspec.json.encode(arguments).decode()
        around = context(context=None, tool_name=item.name, tool_call_id=item.name, tool_arguments=text)
        try:
            return await invoke(around, text)
        except Exception as error:
            if explain is None:
                raise
            message = explain(around, error)
            raise ToolError(str(await message if isawaitable(message) else message)) from error

    made_of = getattr(item.on_invoke_tool, "_get_wrapped_callable", lambda: invoke)()
    asks, seconds = getattr(item, "needs_approval", False), getattr(item, "timeout_seconds", None)
    return _made(item, item.params_json_schema, execute, made_of, asks, seconds)


def _smolagents(item: Any) -> Tool:
    inputs: dict[str, dict[str, Any]] = item.inputs
    properties = {
        name: {key: value for key, value in field.items() if key != "nullable" and (key, value) != ("type", "any")}
        for name, field in inputs.items()
    }
    required = [name for name, field in inputs.items() if not field.get("nullable")]

    def execute(**arguments: Any) -> Any:  # runs in a thread, as it does there
        return item(**arguments)

    return _made(item, {"type": "object", "properties": properties, "required": required}, execute, item.forward)


def _needs_nothing_else(item: Any, engine: str, *names: str) -> None:
    for name in names:
        if getattr(item, name, None):
            raise ConfigError(
                f"tool {item.name!r}: its {name} needs a RunContext, which only {engine}'s own agents have: give a "
                "function without it, or one that takes Treadle's ToolContext"
            )


def _told_to_the_model(module: str, *names: str) -> tuple[type[Exception], ...]:
    """The exceptions of an engine whose words are for the model."""
    loaded = sys.modules.get(module)
    return tuple(getattr(loaded, name) for name in names if hasattr(loaded, name))


def _made(
    item: Any,
    parameters: dict[str, Any],
    execute: Callable[..., Any],
    made_of: Any,
    asks: object = False,
    seconds: float | None = None,
) -> Tool:
    setattr(execute, MADE_OF, made_of)
    approval = "ask" if asks else "allow"
    return Tool(item.name, item.description or "", parameters, execute, seconds or _SECONDS, approval=approval)


_KINDS: tuple[tuple[tuple[str, ...], Callable[[Any], Tool]], ...] = (
    (("tool_call_schema", "ainvoke", "name"), _langchain),
    (("function_schema", "takes_ctx", "name"), _pydantic_ai),
    (("params_json_schema", "on_invoke_tool", "name"), _openai_agents),
    (("inputs", "output_type", "forward", "name"), _smolagents),
)
"""Which attributes a tool of each engine has."""
