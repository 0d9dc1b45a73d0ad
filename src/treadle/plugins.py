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
    name: module
    for module, names in {
        "_dialects.base": "Decision Dialect Encoding",
        "_dialects.registry": "add_dialect",
        "_dialects.text": "TextDialect",
        "_engine.context": "RunContext",
        "_engine.plugin": "Pause Plugin",
        "_flows.background": "BackgroundAgents",
        "_local.guards.example_value_guard": "ExampleValueGuard",
        "_local.guards.give_up_guard": "GiveUpGuard",
        "_local.guards.unsourced_value_guard": "UnsourcedValueGuard",
        "_plugins.code": "CodeMode",
        "_plugins.evidence.judge": "Judge",
        "_plugins.guards.approval": "Approval",
        "_plugins.guards.context_guard": "ContextGuard",
        "_plugins.guards.guardrail": "Guardrail forbid_patterns matches model_judge on_topic",
        "_plugins.guards.history_trim": "HistoryTrim",
        "_plugins.guards.loop_guard": "LoopGuard",
        "_plugins.guards.paging": "Paging",
        "_plugins.guards.personal_data": "PersonalData",
        "_plugins.guards.tool_search": "ToolSearch",
        "_plugins.guards.tool_selection": "ToolSelection",
        "_plugins.mcp": "McpTools",
        "_plugins.memory.citations": "Citations",
        "_plugins.memory.plugin": "Memory",
        "_plugins.memory.store": "MemoryStore",
        "_plugins.research.plugin": "Research",
        "_plugins.skills": "Skills",
        "_plugins.telemetry": "Telemetry",
        "_plugins.thinking.analysis": "TaskAnalysis",
        "_plugins.thinking.observer": "Observer",
        "_plugins.thinking.planner": "Planner",
        "_plugins.thinking.reflection": "Reflection",
        "_plugins.thinking.rewrite": "QuestionRewrite",
        "_tools.base": "ToolOutcome",
    }.items()
    for name in names.split()
}
_RENAMED = {"judged": "model_judge", "without": "forbid_patterns"}

__all__ = sorted(_LAZY_IMPORTS)  # pyright: ignore[reportUnsupportedDunderAll] - the names are imported on use
if not TYPE_CHECKING:  # to a type checker, a module with `__getattr__` has every name
    __getattr__ = lazy_getattr(__name__, _LAZY_IMPORTS, _RENAMED)


def __dir__() -> list[str]:
    return __all__
