"""Presets: one frozen value per description of a ReAct engine, and a default that takes the best of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from treadle._engine.settings import RepairPolicy, Settings
from treadle._plugins.guards.context_guard import ContextGuard
from treadle._plugins.guards.history_trim import HistoryTrim
from treadle._plugins.guards.loop_guard import LoopGuard
from treadle._plugins.guards.paging import Paging
from treadle._plugins.guards.tool_selection import ToolSelection
from treadle._plugins.small_models.borrowed import Borrowed
from treadle._plugins.small_models.insist import Insist
from treadle._plugins.small_models.invented import Invented
from treadle._types.errors import ConfigError

PluginFactory = Callable[[Settings], list[Any]]


def _nothing(settings: Settings) -> list[Any]:
    return []


def _guards(settings: Settings) -> list[Any]:
    selection = [ToolSelection()] if settings.selection_threshold is not None else []
    return [ContextGuard(), *selection, LoopGuard(), Paging(), Insist(), Borrowed(), Invented()]


# Imported when used: most agents have no need of the thinking aids.


def _reflective(settings: Settings) -> list[Any]:
    from treadle._plugins.memory.citations import Citations
    from treadle._plugins.memory.plugin import Memory
    from treadle._plugins.thinking.analysis import TaskAnalysis
    from treadle._plugins.thinking.reflection import Reflection
    from treadle._plugins.thinking.rewrite import QuestionRewrite

    return [QuestionRewrite(), Memory(), TaskAnalysis(), Reflection(), Citations()]


def _planned(settings: Settings) -> list[Any]:
    from treadle._plugins.thinking.observer import Observer
    from treadle._plugins.thinking.planner import Planner

    return [Planner(), Observer(3)]


def _code(settings: Settings) -> list[Any]:
    from treadle._plugins.code import CodeMode

    return [CodeMode(), *_guards(settings)]


class Preset(Struct, frozen=True):
    name: str
    settings: Settings
    plugins: PluginFactory = _nothing


_BUILT_IN = {
    preset.name: preset
    for preset in (
        Preset("default", Settings(), _guards),
        Preset(
            "two_phase",
            Settings(
                dialect="auto:json", on_limit="fallback", answer="synthesize", one_tool_per_step="text", error_detail="message",
                max_observation_chars=50_000, repair=RepairPolicy(max_parse=1),
            ),
            _guards,
        ),
        Preset(
            "streaming",
            Settings(
                dialect="action", markers=True, one_tool_per_step=True, stream_thoughts=True, error_detail="message", unknown_args="prune",
                repair=RepairPolicy(max_parse=2, max_tool=2, backoff=0.8, separate_call=True, counts_as_iteration=False),
                selection_threshold=None, temperature=0.7, max_tokens=8000,
            ),
        ),
        Preset(
            "strict",
            Settings(
                dialect="native", max_iterations=8, on_limit="raise", max_parallel=1, unknown_args="schema", raise_errors=True,
                selection_threshold=None, temperature=0.3, max_tokens=4096,
            ),
        ),
        Preset(
            "reflective",
            Settings(
                dialect="array", max_iterations=6, answer="complete", error_detail="message", repair=RepairPolicy(max_parse=6),
                selection_threshold=None,
            ),
            _reflective,
        ),
        Preset(
            "planned",
            Settings(
                dialect="schema", max_iterations=20, on_limit="salvage", one_tool_per_step=True, error_detail="full",
                repair=RepairPolicy(max_parse=2, counts_as_iteration=False), selection_threshold=None, stream_thoughts=True,
            ),
            _planned,
        ),
        Preset("code", Settings(dialect="code", max_iterations=20, error_detail="message", selection_threshold=None), _code),
    )
}  # fmt: skip


def get(preset: str | Preset) -> Preset:
    if isinstance(preset, Preset):
        return preset
    found = _BUILT_IN.get(preset)
    if found is None:
        raise ConfigError(f"unknown preset {preset!r}; known are: {', '.join(_BUILT_IN)}")
    return found


def names() -> list[str]:
    return list(_BUILT_IN)


def plugins_for(preset: Preset, settings: Settings, given: Iterable[Any] = ()) -> list[Any]:
    """The preset's aids, what the settings themselves call for, and those given; a given one takes the place of its namesake."""
    found = preset.plugins(settings)
    if settings.max_history_messages is not None:
        found.append(HistoryTrim())
    others = list(given)
    for place, plugin in enumerate(found):
        for other in others:
            if plugin.name == getattr(other, "name", None):
                found[place] = other
                others.remove(other)
                break
    # Whoever chooses among the tools must have seen them all.
    bringers = [plugin for plugin in others if getattr(plugin, "brings_tools", False)]
    return [*bringers, *found, *(plugin for plugin in others if plugin not in bringers)]
