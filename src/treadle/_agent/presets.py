"""Presets: settings and plug-ins for each of the described ReAct engines, and a default that combines them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from treadle._engine.settings import Preset as Preset
from treadle._engine.settings import PresetName as PresetName
from treadle._engine.settings import RepairPolicy, Settings
from treadle._models.base import Model
from treadle._types.errors import ConfigError

if TYPE_CHECKING:
    from treadle._plugins.memory.store import MemoryStore


_POLICY_GUARDS = ("give_up_guard", "example_value_guard", "unsourced_value_guard")


# Imported when used: the first run needs the guards, and most agents need no thinking aids.


def _guards(settings: Settings) -> list[Any]:
    from treadle._plugins.guards.approval import PolicyGuard
    from treadle._plugins.guards.context_guard import ContextGuard
    from treadle._plugins.guards.loop_guard import LoopGuard
    from treadle._plugins.guards.paging import Paging
    from treadle._plugins.guards.tool_selection import ToolSelection

    selection = [ToolSelection()] if settings.selection_threshold is not None else []
    return [ContextGuard(), *selection, LoopGuard(), Paging(), *map(PolicyGuard, _POLICY_GUARDS)]


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


def _research(settings: Settings) -> list[Any]:
    from treadle._plugins.memory.citations import Citations
    from treadle._plugins.research.plugin import Research

    return [Research(), Citations(), *_guards(settings)]


def _code(settings: Settings) -> list[Any]:
    from treadle._plugins.code import CodeMode

    code = CodeMode(imports=settings.imports, executor=settings.executor, packages=settings.packages)
    return [code, *_planned(settings), *_guards(settings)]


_TWO_PHASE = Settings(
    on_error="result",
    dialect="auto:json",
    on_limit="fallback",
    answer="synthesize",
    one_tool_per_step="text",
    max_parallel=None,
    error_detail="message",
    max_observation_chars=50_000,
    repair=RepairPolicy(max_parse=1),
)
_STREAMING = Settings(
    on_error="result",
    dialect="action",
    markers=True,
    one_tool_per_step=True,
    stream_thoughts=True,
    error_detail="message",
    unknown_args="prune",
    verbose=True,
    repair=RepairPolicy(
        max_parse=2,
        max_tool=2,
        backoff=0.8,
        separate_call=True,
        counts_as_iteration=False,
        missing=True,
        exhausted="observation",
    ),
    selection_threshold=None,
    temperature=0.7,
    max_tokens=8000,
)
_STRICT = Settings(
    dialect="native",
    max_iterations=8,
    on_limit="raise",
    max_parallel=1,
    unknown_args="schema",
    raise_errors=True,
    selection_threshold=None,
    temperature=0.3,
    max_tokens=4096,
)
_REFLECTIVE = Settings(
    on_error="result",
    dialect="array",
    max_parallel=5,
    max_iterations=6,
    answer="complete",
    error_detail="message",
    repair=RepairPolicy(max_parse=6),
    selection_threshold=None,
)
_PLANNED = Settings(
    on_error="result",
    dialect="schema",
    max_iterations=20,
    on_limit="salvage",
    one_tool_per_step=True,
    error_detail="full",
    repair=RepairPolicy(max_parse=2, counts_as_iteration=False),
    selection_threshold=None,
    stream_thoughts=True,
)
_CODING = Settings(max_iterations=100, error_detail="message")
_CODE = Settings(
    on_error="result",
    dialect="code",
    max_iterations=20,
    on_limit="salvage",
    error_detail="message",
    repair=RepairPolicy(max_parse=2, counts_as_iteration=False, missing="strict"),
    selection_threshold=None,
)

_RESEARCH = Settings(max_iterations=30, error_detail="message")


def _coding(settings: Settings) -> list[Any]:
    from treadle._workspace.coding import Coding

    return [Coding(), *_guards(settings)]


_BUILT_IN = {
    preset.name: preset
    for preset in (
        Preset("default", Settings(), _guards),
        Preset("two_phase", _TWO_PHASE, _guards),
        Preset("streaming", _STREAMING),
        Preset("strict", _STRICT),
        Preset("reflective", _REFLECTIVE, _reflective),
        Preset("planned", _PLANNED, _planned),
        Preset("code", _CODE, _code),
        Preset("coding", _CODING, _coding),
        Preset("research", _RESEARCH, _research),
    )
}


def get(preset: str | Preset) -> Preset:
    if isinstance(preset, Preset):
        return preset
    if preset not in _BUILT_IN:
        from difflib import get_close_matches

        near = get_close_matches(preset, _BUILT_IN, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"unknown preset {preset!r}; expected one of: {', '.join(_BUILT_IN)}{hint}")
    return _BUILT_IN[preset]


def settings_for(preset: Preset, chosen: dict[str, Any], model: Model) -> Settings:
    """The preset's settings with those that were chosen beside it; refused where the model cannot do what it needs."""
    settings = preset.settings.with_changes(chosen)
    if settings.dialect == "native" and "dialect" not in chosen and not model.profile.tool_call:
        raise TypeError(
            f"the preset {preset.name} needs native tool calls, and {model.name} makes none: "
            "choose another model or preset, dialect='auto', or dialect='native' to try it all the same"
        )
    return settings


def names() -> list[str]:
    return list(_BUILT_IN)


def takes_back(agent: Any) -> bool:
    """Return whether words that were shown of an answer of this agent may be taken back by a plug-in."""
    plugins = plugins_for(agent.preset, agent.settings, agent.plugins)
    return any(getattr(plugin, "takes_back", False) for plugin in plugins)


def takes_files(agent: Any) -> bool:
    """Return whether the files of a question lie in a folder for the agent's code, instead of going to the model."""
    plugins = plugins_for(agent.preset, agent.settings, agent.plugins)
    return any(getattr(plugin, "takes_files", False) for plugin in plugins)


def plugins_for(preset: Preset, settings: Settings, given: Iterable[Any] = ()) -> list[Any]:
    """The preset's plug-ins, those the settings need, and those given, which replace plug-ins of the same name."""
    plugins = preset.plugins(settings)
    if settings.max_history_messages is not None:
        from treadle._plugins.guards.history_trim import HistoryTrim

        plugins.append(HistoryTrim())
    others = list(given)
    for index, plugin in enumerate(plugins):
        for other in others:
            if plugin.name == getattr(other, "name", None):
                plugins[index] = other
                others.remove(other)
                break
    # A plug-in that chooses among the tools must have seen them all.
    bring_tools = [plugin for plugin in others if getattr(plugin, "brings_tools", False)]
    return [*bring_tools, *plugins, *(plugin for plugin in others if plugin not in bring_tools)]


LOCAL_USER = "local"
"""Who asks where nobody says who it is, and there is only one who can: at a terminal, on a server without tokens."""


def memory_stores(agent: Any) -> list[MemoryStore]:
    """Where an agent, or one inside it, remembers something; empty when it does not."""
    from treadle._plugins.memory.plugin import Memory

    plugins = plugins_for(agent.preset, agent.settings, agent.plugins)
    stores = [plugin.store for plugin in plugins if isinstance(plugin, Memory)]
    return [*stores, *(store for inner in getattr(agent, "inner_agents", ()) for store in memory_stores(inner))]


def local_user(agent: Any) -> str:
    """The user of a run that nobody is named for: memories have one, anything else needs none."""
    return LOCAL_USER if memory_stores(agent) else ""
