"""The agent of an experiment: a copy with the one change that is the agent's, and with everything disarmed."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import msgspec

from treadle._agent import presets
from treadle._agent.agent import Agent
from treadle._engine.core.experiment import takes_part
from treadle._engine.settings import Settings, no_plugins
from treadle._inspect.why.changes import ADDED, Change, described, prompts_with
from treadle._local.guards.give_up_guard import GiveUpGuard
from treadle._local.guards.unsourced_value_guard import UnsourcedValueGuard
from treadle._plugins.thinking.reflection import Reflection
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import ConfigError
from treadle._types.events import RunStarted
from treadle._types.profile import DecisionThresholds, Profile

GUARDS: Mapping[str, type[Any]] = {
    guard.name: guard for guard in (GiveUpGuard, UnsourcedValueGuard, Reflection)
}  # fmt: skip
"""Guards that can be put into an experiment by their name."""


def settings_with(change: Change, agent: Agent[Any, Any], started: RunStarted) -> Settings:
    """The settings of the recorded run, with the change."""
    changed: dict[str, Any] = {"probe": False}  # nothing is found out about the model here
    if change.kind == "setting":
        changed[change.name] = change.value
    elif change.kind == "dialect":
        changed["dialect"] = change.name
    return agent.settings.with_recorded(started.settings, changed)


def plugins_of(agent: Agent[Any, Any], settings: Settings) -> list[Any]:
    """All its plug-ins, those of the preset and the settings included."""
    return presets.plugins_for(agent.preset, settings, agent.plugins)


def agent_with(
    change: Change, agent: Agent[Any, Any], settings: Settings, models: Mapping[str, Any]
) -> Agent[Any, Any]:
    """A copy of the agent with the change, where it is the agent's. Its plug-ins are all named one by one, and only
    those are left that may take part."""
    variant = copy.copy(agent)
    plugins = [plugin for plugin in plugins_of(agent, settings) if takes_part(plugin)]
    variant.settings = settings
    variant.preset = msgspec.structs.replace(agent.preset, plugins=no_plugins)
    match change.kind:
        case "model":
            variant.models = (models[change.name],)
        case "guard" if change.after == ADDED:
            if change.name not in GUARDS:
                raise ConfigError(f"there is no guard {change.name!r}; expected one of: {', '.join(GUARDS)}")
            plugins.append(GUARDS[change.name]())
        case "guard":
            plugins = [plugin for plugin in plugins if name_of(plugin) != change.name]
        case "description":
            variant.toolkit = Toolkit(
                tool.replace(
                    description=(schema := described(tool.schema, change)).description, parameters=schema.parameters
                )
                if tool.name == change.name
                else tool
                for tool in agent.toolkit
            )
        case "tools" if not change.after:
            variant.toolkit = Toolkit(tool for tool in agent.toolkit if tool.name != change.name)
        case "prompt" if change.name:
            variant.prompts = prompts_with(change, agent.prompts)
        case _:
            pass
    # A plug-in that the settings themselves ask for is named here already: not once more when the run is loaded.
    variant.plugins = tuple(plugins)
    return variant


def started_with(change: Change, started: RunStarted) -> RunStarted:
    """The first record of an experiment: no part of the user's conversation, and without an engine's prompt that was
    written anew, if that is the change."""
    prompts = started.prompts
    if change.kind == "prompt" and change.name:
        prompts = prompts_with(change, prompts)
    return msgspec.structs.replace(started, conversation="", follows="", prompts=prompts)


def profile_with(change: Change, profile: Profile) -> Profile:
    """Return the profile of the model, with another decision threshold if that is the change."""
    if change.kind != "threshold":
        return profile
    if change.name == "off":
        return msgspec.structs.replace(profile, decide=None)
    decide = profile.decide or DecisionThresholds(0.5, 0.5)
    return msgspec.structs.replace(profile, decide=msgspec.structs.replace(decide, **{change.name: change.value}))


def name_of(plugin: object) -> str:
    return getattr(plugin, "name", "") or type(plugin).__name__
