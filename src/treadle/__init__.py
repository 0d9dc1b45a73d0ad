"""Treadle turns any language model into a tool-using agent.

Names are imported when first used, so that `import treadle` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treadle.engine.plugin import Plugin as Plugin
    from treadle.engine.result import RunResult as RunResult
    from treadle.engine.run import Run as Run
    from treadle.engine.settings import Budget as Budget
    from treadle.engine.settings import RepairPolicy as RepairPolicy
    from treadle.engine.settings import Settings as Settings
    from treadle.engine.structured import structured_llm_call as structured_llm_call
    from treadle.flows import presets as presets
    from treadle.flows.agent import Agent as Agent
    from treadle.flows.dag.agent import DagAgent as DagAgent
    from treadle.flows.react import react_loop as react_loop
    from treadle.journal.base import Journal as Journal
    from treadle.models.anthropic import AnthropicModel as AnthropicModel
    from treadle.models.gemini import GeminiModel as GeminiModel
    from treadle.models.local import LocalModel as LocalModel
    from treadle.models.openai import OpenAIModel as OpenAIModel
    from treadle.models.registry import ModelRegistry as ModelRegistry
    from treadle.models.retry import RetryPolicy as RetryPolicy
    from treadle.models.scripted import ScriptedModel as ScriptedModel
    from treadle.tools.base import Tool as Tool
    from treadle.tools.base import ToolContext as ToolContext
    from treadle.tools.base import ToolResponse as ToolResponse
    from treadle.tools.function import tool as tool
    from treadle.tools.spec import BaseTool as BaseTool
    from treadle.tools.spec import ToolParam as ToolParam
    from treadle.tools.spec import ToolReturn as ToolReturn
    from treadle.tools.spec import ToolSpec as ToolSpec
    from treadle.tools.toolkit import Toolkit as Toolkit
    from treadle.types.errors import BudgetExhaustedError as BudgetExhaustedError
    from treadle.types.errors import MaxIterationsError as MaxIterationsError
    from treadle.types.errors import ToolError as ToolError
    from treadle.types.errors import TreadleError as TreadleError
    from treadle.types.events import Artifact as Artifact
    from treadle.types.request import Reply as Reply
    from treadle.types.usage import Usage as Usage

__version__ = "0.1.0"

_WHERE = {
    "Agent": "flows.agent",
    "AnthropicModel": "models.anthropic",
    "Artifact": "types.events",
    "BaseTool": "tools.spec",
    "Budget": "engine.settings",
    "BudgetExhaustedError": "types.errors",
    "DagAgent": "flows.dag.agent",
    "GeminiModel": "models.gemini",
    "Journal": "journal.base",
    "LocalModel": "models.local",
    "MaxIterationsError": "types.errors",
    "ModelRegistry": "models.registry",
    "OpenAIModel": "models.openai",
    "Plugin": "engine.plugin",
    "RepairPolicy": "engine.settings",
    "Reply": "types.request",
    "RetryPolicy": "models.retry",
    "Run": "engine.run",
    "RunResult": "engine.result",
    "ScriptedModel": "models.scripted",
    "Settings": "engine.settings",
    "Tool": "tools.base",
    "ToolContext": "tools.base",
    "ToolError": "types.errors",
    "ToolParam": "tools.spec",
    "ToolResponse": "tools.base",
    "ToolReturn": "tools.spec",
    "ToolSpec": "tools.spec",
    "Toolkit": "tools.toolkit",
    "TreadleError": "types.errors",
    "Usage": "types.usage",
    "react_loop": "flows.react",
    "structured_llm_call": "engine.structured",
    "tool": "tools.function",
}

__all__ = [*sorted(_WHERE), "presets"]  # pyright: ignore[reportUnsupportedDunderAll] - the names are imported on use


def __getattr__(name: str) -> Any:
    if name == "presets":
        return import_module("treadle.flows.presets")
    if name not in _WHERE:
        raise AttributeError(f"module 'treadle' has no attribute {name!r}")
    value = getattr(import_module(f"treadle.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
