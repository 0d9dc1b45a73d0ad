"""Plug-ins: the base class with its hooks, what hooks receive and return, and the plug-ins that come with Treadle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle._lazy import lazy_getattr

if TYPE_CHECKING:
    from treadle._dialects.base import Decision as Decision
    from treadle._dialects.base import Dialect as Dialect
    from treadle._dialects.base import Encoding as Encoding
    from treadle._dialects.registry import add_dialect as add_dialect
    from treadle._dialects.text import TextDialect as TextDialect
    from treadle._engine.context import RunContext as RunContext
    from treadle._engine.plugin import Pause as Pause
    from treadle._engine.plugin import Plugin as Plugin
    from treadle._flows.background import BackgroundAgents as BackgroundAgents
    from treadle._local.guards.example_value_guard import ExampleValueGuard as ExampleValueGuard
    from treadle._local.guards.give_up_guard import GiveUpGuard as GiveUpGuard
    from treadle._local.guards.unsourced_value_guard import UnsourcedValueGuard as UnsourcedValueGuard
    from treadle._plugins.code import CodeMode as CodeMode
    from treadle._plugins.evidence.judge import Judge as Judge
    from treadle._plugins.guards.approval import Approval as Approval
    from treadle._plugins.guards.context_guard import ContextGuard as ContextGuard
    from treadle._plugins.guards.guardrail import Guardrail as Guardrail
    from treadle._plugins.guards.guardrail import forbid_patterns as forbid_patterns
    from treadle._plugins.guards.guardrail import matches as matches
    from treadle._plugins.guards.guardrail import model_judge as model_judge
    from treadle._plugins.guards.guardrail import on_topic as on_topic
    from treadle._plugins.guards.history_trim import HistoryTrim as HistoryTrim
    from treadle._plugins.guards.loop_guard import LoopGuard as LoopGuard
    from treadle._plugins.guards.paging import Paging as Paging
    from treadle._plugins.guards.personal_data import PersonalData as PersonalData
    from treadle._plugins.guards.tool_search import ToolSearch as ToolSearch
    from treadle._plugins.guards.tool_selection import ToolSelection as ToolSelection
    from treadle._plugins.mcp import McpTools as McpTools
    from treadle._plugins.memory.citations import Citations as Citations
    from treadle._plugins.memory.plugin import Memory as Memory
    from treadle._plugins.memory.store import MemoryStore as MemoryStore
    from treadle._plugins.research.plugin import Research as Research
    from treadle._plugins.skills import Skills as Skills
    from treadle._plugins.telemetry import Telemetry as Telemetry
    from treadle._plugins.thinking.analysis import TaskAnalysis as TaskAnalysis
    from treadle._plugins.thinking.observer import Observer as Observer
    from treadle._plugins.thinking.planner import Planner as Planner
    from treadle._plugins.thinking.reflection import Reflection as Reflection
    from treadle._plugins.thinking.rewrite import QuestionRewrite as QuestionRewrite
    from treadle._tools.base import ToolOutcome as ToolOutcome

_LAZY_IMPORTS = {
    "Approval": "_plugins.guards.approval",
    "BackgroundAgents": "_flows.background",
    "Citations": "_plugins.memory.citations",
    "CodeMode": "_plugins.code",
    "ContextGuard": "_plugins.guards.context_guard",
    "Decision": "_dialects.base",
    "Dialect": "_dialects.base",
    "Encoding": "_dialects.base",
    "TextDialect": "_dialects.text",
    "add_dialect": "_dialects.registry",
    "ExampleValueGuard": "_local.guards.example_value_guard",
    "GiveUpGuard": "_local.guards.give_up_guard",
    "Guardrail": "_plugins.guards.guardrail",
    "forbid_patterns": "_plugins.guards.guardrail",
    "matches": "_plugins.guards.guardrail",
    "model_judge": "_plugins.guards.guardrail",
    "on_topic": "_plugins.guards.guardrail",
    "HistoryTrim": "_plugins.guards.history_trim",
    "Judge": "_plugins.evidence.judge",
    "LoopGuard": "_plugins.guards.loop_guard",
    "McpTools": "_plugins.mcp",
    "Memory": "_plugins.memory.plugin",
    "MemoryStore": "_plugins.memory.store",
    "Observer": "_plugins.thinking.observer",
    "Paging": "_plugins.guards.paging",
    "PersonalData": "_plugins.guards.personal_data",
    "Pause": "_engine.plugin",
    "Planner": "_plugins.thinking.planner",
    "Plugin": "_engine.plugin",
    "QuestionRewrite": "_plugins.thinking.rewrite",
    "Reflection": "_plugins.thinking.reflection",
    "Research": "_plugins.research.plugin",
    "RunContext": "_engine.context",
    "Skills": "_plugins.skills",
    "TaskAnalysis": "_plugins.thinking.analysis",
    "Telemetry": "_plugins.telemetry",
    "ToolOutcome": "_tools.base",
    "ToolSearch": "_plugins.guards.tool_search",
    "ToolSelection": "_plugins.guards.tool_selection",
    "UnsourcedValueGuard": "_local.guards.unsourced_value_guard",
}
_RENAMED = {"judged": "model_judge", "without": "forbid_patterns"}

__all__ = sorted(_LAZY_IMPORTS)  # pyright: ignore[reportUnsupportedDunderAll] - the names are imported on use
if not TYPE_CHECKING:  # to a type checker, a module with `__getattr__` has every name
    __getattr__ = lazy_getattr(__name__, _LAZY_IMPORTS, _RENAMED)


def __dir__() -> list[str]:
    return __all__
