"""Agents with another model or preset: what a person chooses for a conversation, from what the operator offers."""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from treadle._agent import presets
from treadle._agent.agent import Agent
from treadle._models.base import Model
from treadle._models.catalog.registry import check_model_name, resolve_model
from treadle._server.errors import bad_request
from treadle._server.live.branches import RunFacts
from treadle._server.settings import ServerSettings
from treadle._types.errors import TreadleError


class Variants:
    """Made when first chosen, then kept. What was chosen for the agent beside its preset holds in all of them."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        for name in settings.models:
            check_model_name(name)
        for name in settings.presets:
            presets.get(name)
        self._models: dict[str, Model] = {}
        self._made: dict[tuple[str, str, str], Agent] = {}
        self._listed: dict[tuple[str, str], Model] = {}
        """Agents' own models by the names they were listed under: one given by its address has another name after the
        first contact, and clients still send the one they read."""

    def models(self, agent: Agent) -> list[str]:
        """The agent's own first."""
        self._listed.update({(agent.name, model.name): model for model in agent.models})
        own = [model.name for model in agent.models]
        return list(dict.fromkeys([*own, *self._settings.models] if _plain(agent) else own[:1]))

    def presets(self, agent: Agent) -> list[str]:
        return list(dict.fromkeys([agent.preset.name, *(self._settings.presets if _plain(agent) else ())]))

    def chosen(self, agent: Agent, model: str, preset: str) -> Agent:
        """The agent with this model and this preset; empty for its own."""
        models = self.models(agent)
        if (own := self._listed.get((agent.name, model))) is not None:
            model = own.name
        for name, offered, what in ((model, models, "model"), (preset, self.presets(agent), "preset")):
            if name and name not in offered:
                raise bad_request(f"the {what} {name[:80]!r} is not offered: choose one of {', '.join(offered)}")
        model = "" if model == agent.model.name else model
        preset = "" if preset == agent.preset.name else preset
        if not model and not preset:
            return agent
        key = (agent.name, model, preset)
        if key not in self._made:
            try:
                self._made[key] = self._make(agent, model, preset)
            except (TreadleError, TypeError) as error:
                raise bad_request(str(error)) from None
        return self._made[key]

    def of_run(self, agent: Agent, facts: RunFacts) -> Agent:
        """The one that a run began with, as far as that is still offered."""
        offered = self.models(agent)
        named = facts.model if facts.model in offered else ""
        model = named or next((name for name in offered if self._name(name) == facts.model), "")
        return self.chosen(agent, model, facts.preset if facts.preset in self.presets(agent) else "")

    def _name(self, offered: str) -> str:
        """Return what a run with that model records."""
        try:
            return self._model(offered).name
        except TreadleError:  # such as one whose key is missing now
            return ""

    def _model(self, offered: str) -> Model:
        if offered not in self._models:
            self._models[offered] = resolve_model(offered)
        return self._models[offered]

    def _make(self, agent: Agent, model: str, preset: str) -> Agent:
        variant: Agent[Any, Any] = copy.copy(agent)
        if model:
            own = next((one for one in agent.models if one.name == model), None)
            variant.models = (own or self._model(model), *(one for one in agent.models if one is not own))
        variant.preset = presets.get(preset) if preset else agent.preset
        settings = presets.settings_for(variant.preset, agent.chosen, variant.model)
        variant.settings = msgspec.structs.replace(settings, **_set_later(agent))
        return variant

    async def aclose(self) -> None:
        for model in self._models.values():
            await model.aclose()


def _set_later(agent: Agent) -> dict[str, Any]:
    """Return what the operator has set on the agent after it was made, such as what it must ask about."""
    made = agent.preset.settings.with_changes(agent.chosen)
    now = {name: getattr(agent.settings, name) for name in made.__struct_fields__}
    return {name: value for name, value in now.items() if value != getattr(made, name)}


def _plain(agent: Agent) -> bool:
    """Plans and graph documents say themselves which models they use where."""
    return type(agent) is Agent
