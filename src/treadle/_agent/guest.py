"""An agent inside the loop of another engine: a question comes in, records and an answer go out.

`as_langchain`, `as_pydantic_ai` and `as_openai_agents` of an agent are made here. The other engine is imported when one
of them is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any, Protocol

from treadle._engine.core.log import Sink
from treadle._engine.result import RunResult
from treadle._engine.run import Run
from treadle._engine.surfaces.bridge import bridge
from treadle._types.errors import ConfigError, ToolError


class Startable(Protocol):
    """An agent of any kind."""

    def start(self, question: Any, **options: Any) -> Run[Any]: ...


async def run_as_guest(agent: Startable, question: Any, watch: Sink | None = None, **options: Any) -> RunResult[Any]:
    """Run an agent for a loop that is not ours. It is stopped when its caller is, each of its records is shown to
    `watch`, and however it ends, that is a result."""
    run = agent.start(question, **options)
    if watch is not None:
        run.subscribe(watch)
    return await run


def answer_of(result: RunResult[Any]) -> str:
    """The answer for whoever asked; `ToolError` says why there is none. Half an answer is never passed on as a whole
    one."""
    if result.pending:
        waiting = "; ".join(f"{call.tool}: {call.why}" for call in result.pending)
        raise ToolError(f"run {result.run_id} waits for a person, who decides outside of this loop ({waiting})")
    if not result.success:
        raise ToolError(f"the agent gave no answer ({result.error or result.stop_reason})")
    return result.answer


def made_for(engine: str, agent: Any, name: str, description: str, watch: Sink | None, options: dict[str, Any]) -> Any:
    """The agent as a tool of an engine: one parameter, the question."""
    package, make = _ENGINES[engine]
    module = _imported(package)
    name = re.sub(r"[^A-Za-z0-9_-]", "_", name or agent.name)[:64]
    description = description or agent.description or f"Ask the agent {agent.name} to do a part of the work."

    async def ask(question: str) -> str:
        return answer_of(await run_as_guest(agent, question, watch, **options))

    return make(module, name, description, ask)


def _langchain(module: Any, name: str, description: str, ask: Callable[[str], Awaitable[str]]) -> Any:
    async def coroutine(question: str) -> str:
        try:
            return await ask(question)
        except ToolError as error:
            raise module.ToolException(str(error)) from error

    def func(question: str) -> str:
        return bridge.run(coroutine(question))

    return module.StructuredTool.from_function(
        func, coroutine, name, description, args_schema=_QUESTION, handle_tool_error=True
    )


def _pydantic_ai(module: Any, name: str, description: str, ask: Callable[[str], Awaitable[str]]) -> Any:
    async def function(question: str) -> str:
        try:
            return await ask(question)
        except ToolError as error:
            raise module.ToolFailed(str(error)) from error

    return module.Tool.from_schema(function, name, description, _QUESTION)


def _openai_agents(module: Any, name: str, description: str, ask: Callable[[str], Awaitable[str]]) -> Any:
    async def function(question: str) -> str:
        return await ask(question)

    def told(context: object, error: Exception) -> str:  # by default it is not told why
        return str(error)

    return module.function_tool(
        function,
        name_override=name,
        description_override=description,
        failure_error_function=told,
    )


def _imported(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise ConfigError(f"{package} is not installed: {error}") from error


_QUESTION = {
    "type": "object",
    "properties": {"question": {"type": "string", "description": "The order, with all that is needed to do it."}},
    "required": ["question"],
    "additionalProperties": False,
}
_ENGINES = {
    "langchain": ("langchain_core.tools", _langchain),
    "pydantic_ai": ("pydantic_ai", _pydantic_ai),
    "openai_agents": ("agents", _openai_agents),
}
