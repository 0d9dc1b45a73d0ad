"""What can be added to a run: guards, thinking aids, memory, citations, approval. Imported when used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treadle.plugins.analysis import TaskAnalysis
    from treadle.plugins.approval import Approval
    from treadle.plugins.borrowed import Borrowed
    from treadle.plugins.citations import Citations
    from treadle.plugins.context import ContextGuard
    from treadle.plugins.history import HistoryTrim
    from treadle.plugins.insist import Insist
    from treadle.plugins.invented import Invented
    from treadle.plugins.loopguard import LoopGuard
    from treadle.plugins.memory import Memory
    from treadle.plugins.memory_store import MemoryStore
    from treadle.plugins.observer import Observer
    from treadle.plugins.paging import Paging
    from treadle.plugins.planner import Planner
    from treadle.plugins.reflection import Reflection
    from treadle.plugins.rewrite import QuestionRewrite
    from treadle.plugins.selection import ToolSelection

__all__ = [
    "Approval", "Borrowed", "Citations", "ContextGuard", "HistoryTrim", "Insist", "Invented", "LoopGuard", "Memory", "MemoryStore",
    "Observer", "Paging", "Planner", "QuestionRewrite", "Reflection", "TaskAnalysis", "ToolSelection",
]  # fmt: skip

_HOMES = {
    "Approval": "approval",
    "Borrowed": "borrowed",
    "Citations": "citations",
    "ContextGuard": "context",
    "HistoryTrim": "history",
    "Insist": "insist",
    "Invented": "invented",
    "LoopGuard": "loopguard",
    "Memory": "memory",
    "MemoryStore": "memory_store",
    "Observer": "observer",
    "Paging": "paging",
    "Planner": "planner",
    "QuestionRewrite": "rewrite",
    "Reflection": "reflection",
    "TaskAnalysis": "analysis",
    "ToolSelection": "selection",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
