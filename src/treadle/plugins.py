"""What can be added to an agent: guards, thinking aids, memory, citations, approval, MCP, telemetry.

Each name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treadle._engine.plugin import Plugin as Plugin
    from treadle._plugins.code import CodeMode as CodeMode
    from treadle._plugins.guards.approval import Approval as Approval
    from treadle._plugins.guards.context_guard import ContextGuard as ContextGuard
    from treadle._plugins.guards.history_trim import HistoryTrim as HistoryTrim
    from treadle._plugins.guards.loop_guard import LoopGuard as LoopGuard
    from treadle._plugins.guards.paging import Paging as Paging
    from treadle._plugins.guards.tool_selection import ToolSelection as ToolSelection
    from treadle._plugins.mcp import McpTools as McpTools
    from treadle._plugins.memory.citations import Citations as Citations
    from treadle._plugins.memory.plugin import Memory as Memory
    from treadle._plugins.memory.store import MemoryStore as MemoryStore
    from treadle._plugins.small_models.example_value_guard import ExampleValueGuard as ExampleValueGuard
    from treadle._plugins.small_models.give_up_guard import GiveUpGuard as GiveUpGuard
    from treadle._plugins.small_models.unsourced_value_guard import UnsourcedValueGuard as UnsourcedValueGuard
    from treadle._plugins.telemetry import Telemetry as Telemetry
    from treadle._plugins.thinking.analysis import TaskAnalysis as TaskAnalysis
    from treadle._plugins.thinking.observer import Observer as Observer
    from treadle._plugins.thinking.planner import Planner as Planner
    from treadle._plugins.thinking.reflection import Reflection as Reflection
    from treadle._plugins.thinking.rewrite import QuestionRewrite as QuestionRewrite

_LAZY_IMPORTS = {
    "Approval": "guards.approval",
    "Citations": "memory.citations",
    "CodeMode": "code",
    "ContextGuard": "guards.context_guard",
    "ExampleValueGuard": "small_models.example_value_guard",
    "GiveUpGuard": "small_models.give_up_guard",
    "HistoryTrim": "guards.history_trim",
    "LoopGuard": "guards.loop_guard",
    "McpTools": "mcp",
    "Memory": "memory.plugin",
    "MemoryStore": "memory.store",
    "Observer": "thinking.observer",
    "Paging": "guards.paging",
    "Planner": "thinking.planner",
    "QuestionRewrite": "thinking.rewrite",
    "Reflection": "thinking.reflection",
    "TaskAnalysis": "thinking.analysis",
    "Telemetry": "telemetry",
    "ToolSelection": "guards.tool_selection",
    "UnsourcedValueGuard": "small_models.unsourced_value_guard",
}

__all__ = [*sorted(_LAZY_IMPORTS), "Plugin"]  # pyright: ignore[reportUnsupportedDunderAll] - imported on use


def __getattr__(name: str) -> Any:
    if name == "Plugin":
        return import_module("treadle._engine.plugin").Plugin
    if name not in _LAZY_IMPORTS:
        raise AttributeError(f"module 'treadle.plugins' has no attribute {name!r}")
    value = getattr(import_module(f"treadle._plugins.{_LAZY_IMPORTS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
