"""What a preset is: names that type checkers know, settings, plug-ins."""

from __future__ import annotations

from typing import get_args

from treadle import Agent, ScriptedModel
from treadle._engine.preset import Preset, PresetName
from treadle._engine.settings import Settings
from treadle._flows import presets


def test_type_checkers_know_the_presets_there_are():
    assert list(get_args(PresetName)) == presets.names()


def test_settings_alone_make_one():
    mine = Preset("mine", Settings(max_iterations=3))
    assert mine.plugins(mine.settings) == []
    assert Agent(ScriptedModel(["x"]), tools=None, preset=mine).settings.max_iterations == 3
