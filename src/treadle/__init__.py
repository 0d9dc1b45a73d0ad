"""Treadle turns any language model into a tool-using agent.

Names are imported when first used, so that `import treadle` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from treadle._version import __version__ as __version__

if TYPE_CHECKING:
    from treadle._engine.plugin import Plugin as Plugin
    from treadle._engine.result import RunResult as RunResult
    from treadle._engine.run import Run as Run
    from treadle._engine.settings import Budget as Budget
    from treadle._engine.settings import RepairPolicy as RepairPolicy
    from treadle._engine.settings import Settings as Settings
    from treadle._engine.structured import structured_llm_call as structured_llm_call
    from treadle._flows import presets as presets
    from treadle._flows.agent import Agent as Agent
    from treadle._flows.dag.agent import DagAgent as DagAgent
    from treadle._flows.react import react_loop as react_loop
    from treadle._journal.base import Journal as Journal
    from treadle._models.anthropic.model import AnthropicModel as AnthropicModel
    from treadle._models.catalog.registry import ModelRegistry as ModelRegistry
    from treadle._models.gemini.model import GeminiModel as GeminiModel
    from treadle._models.local.model import LocalModel as LocalModel
    from treadle._models.openai.chat import OpenAIModel as OpenAIModel
    from treadle._models.scripted import ScriptedModel as ScriptedModel
    from treadle._models.transport.retry import RetryPolicy as RetryPolicy
    from treadle._tools.base import Tool as Tool
    from treadle._tools.base import ToolContext as ToolContext
    from treadle._tools.base import ToolResponse as ToolResponse
    from treadle._tools.function import tool as tool
    from treadle._tools.spec import BaseTool as BaseTool
    from treadle._tools.spec import ToolParam as ToolParam
    from treadle._tools.spec import ToolReturn as ToolReturn
    from treadle._tools.spec import ToolSpec as ToolSpec
    from treadle._tools.toolkit import Toolkit as Toolkit
    from treadle._types.errors import BudgetExhaustedError as BudgetExhaustedError
    from treadle._types.errors import MaxIterationsError as MaxIterationsError
    from treadle._types.errors import ToolError as ToolError
    from treadle._types.errors import TreadleError as TreadleError
    from treadle._types.events import Artifact as Artifact
    from treadle._types.request import Reply as Reply
    from treadle._types.usage import Usage as Usage

_WHERE = {
    "Agent": "_flows.agent",
    "AnthropicModel": "_models.anthropic.model",
    "Artifact": "_types.events",
    "BaseTool": "_tools.spec",
    "Budget": "_engine.settings",
    "BudgetExhaustedError": "_types.errors",
    "DagAgent": "_flows.dag.agent",
    "GeminiModel": "_models.gemini.model",
    "Journal": "_journal.base",
    "LocalModel": "_models.local.model",
    "MaxIterationsError": "_types.errors",
    "ModelRegistry": "_models.catalog.registry",
    "OpenAIModel": "_models.openai.chat",
    "Plugin": "_engine.plugin",
    "RepairPolicy": "_engine.settings",
    "Reply": "_types.request",
    "RetryPolicy": "_models.transport.retry",
    "Run": "_engine.run",
    "RunResult": "_engine.result",
    "ScriptedModel": "_models.scripted",
    "Settings": "_engine.settings",
    "Tool": "_tools.base",
    "ToolContext": "_tools.base",
    "ToolError": "_types.errors",
    "ToolParam": "_tools.spec",
    "ToolResponse": "_tools.base",
    "ToolReturn": "_tools.spec",
    "ToolSpec": "_tools.spec",
    "Toolkit": "_tools.toolkit",
    "TreadleError": "_types.errors",
    "Usage": "_types.usage",
    "react_loop": "_flows.react",
    "structured_llm_call": "_engine.structured",
    "tool": "_tools.function",
}

__all__ = [*sorted(_WHERE), "presets"]  # pyright: ignore[reportUnsupportedDunderAll] - the names are imported on use


def __getattr__(name: str) -> Any:
    if name == "presets":
        return import_module("treadle._flows.presets")
    if name not in _WHERE:
        raise AttributeError(f"module 'treadle' has no attribute {name!r}")
    value = getattr(import_module(f"treadle.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
