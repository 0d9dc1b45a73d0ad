"""What a preset is: a name for settings and the plug-ins they need. Those that there are: `_flows.presets`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from treadle._engine.settings import Settings

PresetName = Literal["default", "two_phase", "streaming", "strict", "reflective", "planned", "code", "research"]
"""The presets that come with Treadle. For a name that is known at run time only: `presets.get(name)`."""
PluginFactory = Callable[[Settings], list[Any]]


def no_plugins(settings: Settings) -> list[Any]:
    return []


class Preset(Struct, frozen=True):
    """Settings that belong together, and the plug-ins they need. One of your own: `Agent(..., preset=Preset("mine",
    Settings(max_iterations=3)))`."""

    name: str
    settings: Settings
    plugins: PluginFactory = no_plugins
