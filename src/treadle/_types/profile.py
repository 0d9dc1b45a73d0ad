"""Facts about a model. They come from a table, the user, or a probe; the loop never guesses one."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from treadle._types.errors import ConfigError

ABILITIES = (
    "tool_call",
    "parallel_calls",
    "forced_tool",
    "json_mode",
    "json_schema",
    "grammar",
    "streaming",
    "logprobs",
    "reasoning",
    "vision",
    "documents",
    "audio",
)


SMALL_BELOW = 4.0
"""Billions of parameters. The help of `treadle._local` was measured with models of 0.5 and 1.5 billion; open models
come in classes of up to 3 and from 7 billion, and from 7 on they find their way without it."""


TINY_BELOW = 1.0
"""Billions of parameters."""


class Prices(Struct, frozen=True, omit_defaults=True):
    """US dollars per million tokens, and per search."""

    input: float
    output: float
    cached: float | None = None
    """Reading from the provider's cache; the input price when not given."""
    cache_write: float | None = None
    search: float | None = None
    """One web search of the provider's own, in dollars."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            price = getattr(self, name)
            if price is not None and not 0 <= price < float("inf"):  # a negative one would fill a budget up again
                raise ConfigError(f"prices: {name} is {price!r}, and it must be a number of dollars of at least 0")


class DecisionThresholds(Struct, frozen=True, omit_defaults=True):
    """From which probability of an answer on the model is taken to want one, rather than a tool. They hold for one form
    of prompts: `treadle doctor --calibrate` finds them."""

    first: float
    """Before any result."""
    later: float
    """After a result, when the question is whether that is enough."""
    dialect: str = "direct"
    """The dialect that they hold for."""
    adapter: str = ""
    """The tuning that they hold for; empty: the model without one."""
    fits: float | None = None
    """A model that wants a tool, and none of those there are, is asked whether one of them is for what was asked: from
    which probability of a yes on that is believed. None: it is not asked."""

    def hold_for(self, model: Profile | DecisionThresholds) -> bool:
        """Return whether they were found for a model with the same tuning."""
        return self.adapter == model.adapter

    def __post_init__(self) -> None:
        for name in ("first", "later", "fits"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:  # also what is no number
                raise ConfigError(f"decide: {name} is {getattr(self, name)!r}, and it must be between 0 and 1")


class Profile(Struct, frozen=True, omit_defaults=True):
    """Facts about a model: its abilities, context window, prices, and what its API accepts."""

    tool_call: bool = False
    parallel_calls: bool = False
    """Several calls in one reply. For information: a model that makes one at a time is served the same way."""
    forced_tool: bool = False
    """A tool choice can be forced (needed for level 1 of a structured call)."""
    json_mode: bool = False
    json_schema: bool = False
    strict_schema: bool = False
    """Decoding follows a schema token by token, lengths included: as good as a grammar."""
    grammar: bool = False
    streaming: bool = True
    logprobs: bool = False
    """Tells how probable the alternatives to each token were, before a constraint on the reply left some of them."""
    reasoning: bool = False
    vision: bool | None = None
    """Reads images. When it is not known, they are sent, and the provider decides."""
    documents: bool | None = None
    """Reads PDF files itself. When it is not known, it is given their text."""
    audio: bool | None = None
    """Hears. When it is not known, it is given a transcript, if there is one."""
    window: int | None = None
    max_output: int | None = None
    prices: Prices | None = None
    dialect: str | None = None
    """The dialect that works best, by a probe."""
    calls_known: bool = False
    """Its native calls are known to work at this provider: the text of its replies is never read for calls."""
    accepts_temperature: bool = True
    token_cap_name: str = "max_tokens"
    """How this model calls the cap on output tokens."""
    forced_tool_while_thinking: bool = True
    replay_reasoning: bool = False
    """The provider wants earlier reasoning sent back."""
    tiny: bool = False
    """Under about a billion parameters: long prompts and worked examples confuse it, it needs the shortest there is."""
    parameters: float | None = None
    """Billions of parameters: by its metadata, its name, or the user; None when none of them says."""
    adapter: str = ""
    """The name of what tunes the model for tool use; empty when nothing does."""
    decide: DecisionThresholds | None = None
    """Read from the model's own probabilities whether it wants a tool, before a constraint decides for it; None: no."""
    system_role: str = "system"
    """`system`, `developer`, or `user` for models without a system role."""

    def with_abilities(self, abilities: dict[str, Any]) -> Profile:
        """This profile with the user's overrides; an unknown name is an error that lists the abilities."""
        unknown = sorted(set(abilities) - set(self.__struct_fields__))
        if unknown:
            raise ValueError(f"unknown ability {unknown[0]!r}; expected one of: {', '.join(ABILITIES)}")
        for name in ("window", "max_output"):
            tokens = abilities.get(name)
            if tokens is not None and (not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 1):
                raise ConfigError(f"{name} is {tokens!r}, and it must be a whole number of at least 1")
        if "tool_call" in abilities:  # what a probe chose rested on what is overridden now
            abilities = {"dialect": None, **abilities}
        if abilities.get("tool_call") is False:
            abilities = {"forced_tool": False, "parallel_calls": False, **abilities}
        return msgspec.structs.replace(self, **abilities)

    @property
    def calls_natively(self) -> bool:
        """Return whether native calls are known to work, not only offered."""
        return self.calls_known or self.dialect == "native"

    @property
    def constrained(self) -> bool:
        """Return whether no reply can deviate from what it was constrained to."""
        return self.grammar or self.strict_schema

    def decides_in(self, dialect: str) -> bool:
        """Return whether what the model wants is read from its probabilities in this dialect."""
        decide = self.decide
        return decide is not None and self.logprobs and decide.dialect == dialect and decide.hold_for(self)

    @property
    def small(self) -> bool:
        """The same as `assisted`."""
        return self.assisted

    @property
    def assisted(self) -> bool:
        """Return whether the model has so few parameters that the engine helps it along. One of unknown size is not
        helped: help it does not need gets in its way."""
        return self.tiny if self.parameters is None else self.parameters < SMALL_BELOW

    @property
    def tuned(self) -> bool:
        """Return whether the model was tuned for tool use."""
        return bool(self.adapter)

    def with_parameters(self, billions: float) -> Profile:
        return msgspec.structs.replace(self, parameters=billions, tiny=billions < TINY_BELOW)

    def with_tuning(self, name: str) -> Profile:
        """With an adapter for tool use: what the model needed help with, it has learnt."""
        return msgspec.structs.replace(self, adapter=name, tiny=False)

    @property
    def reviewed(self) -> bool:
        """Return whether a reply policy reviews the model's replies before they count."""
        return self.assisted or self.tiny or self.decide is not None

    @property
    def abilities(self) -> dict[str, bool]:
        return {name: bool(getattr(self, name)) for name in ABILITIES}
