"""Presets: which plug-ins an agent gets, and in which order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from treadle import Agent, ScriptedModel
from treadle._agent import presets
from treadle._engine.settings import Settings
from treadle._types.errors import ConfigError
from treadle.plugins import LoopGuard, Memory, MemoryStore, Planner, Plugin

GUARDS = ["context", "selection", "loop_guard", "paging"]
SMALL_MODELS = ["give_up_guard", "example_value_guard", "unsourced_value_guard"]


def names(preset: str, *given: Any, **settings: Any) -> list[str]:
    chosen = presets.get(preset)
    changed = chosen.settings.with_changes(settings)
    return [plugin.name for plugin in presets.plugins_for(chosen, changed, given)]


def test_the_plugins_of_each_preset():
    for preset, expected in {
        "default": [*GUARDS, *SMALL_MODELS],
        "two_phase": [*GUARDS, *SMALL_MODELS],
        "streaming": [],
        "strict": [],
        "reflective": ["rewrite", "memory", "analysis", "reflection", "citations"],
        "planned": ["planner", "observer"],
        "code": ["code", "planner", "observer", "context", "loop_guard", "paging", *SMALL_MODELS],
    }.items():
        assert names(preset) == expected, preset


def test_a_preset_of_ones_own_is_taken_as_it_is():
    mine = presets.Preset("mine", Settings(max_iterations=3))
    assert presets.get(mine) is mine
    assert presets.plugins_for(mine, mine.settings) == []


def test_an_unknown_name_is_an_error_that_lists_the_others():
    with pytest.raises(ConfigError, match="unknown preset 'stric'; expected one of: default, two_phase"):
        presets.get("stric")


def test_a_setting_brings_the_plugin_it_needs():
    assert names("strict", max_history_messages=20) == ["trim"]
    assert "selection" not in names("default", selection_threshold=None)


def test_a_given_plugin_replaces_the_one_of_the_same_name_and_others_are_added():
    mine = LoopGuard(stop=9)
    chosen = presets.get("default")
    plugins = presets.plugins_for(chosen, chosen.settings, [Planner(), mine])
    assert [plugin.name for plugin in plugins] == [*GUARDS, *SMALL_MODELS, "planner"]
    assert plugins[2] is mine


def test_plugins_that_bring_tools_come_before_those_that_choose_among_them():
    class Brings(Plugin):
        name = "brings"
        brings_tools = True

    assert names("default", Planner(), Brings()) == ["brings", *GUARDS, *SMALL_MODELS, "planner"]


def test_where_an_agent_remembers_something(tmp_path: Path):
    own = Memory(MemoryStore(tmp_path / "own.db"))
    model = ScriptedModel([])
    assert presets.memory_stores(Agent(model, None)) == []
    assert presets.memory_stores(Agent(model, None, preset="reflective", plugins=[own])) == [own.store]
    (of_the_preset,) = presets.memory_stores(Agent(model, None, preset="reflective"))
    assert of_the_preset.path.name == "memory.db"
