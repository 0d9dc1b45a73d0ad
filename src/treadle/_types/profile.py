"""What is known about a model: facts that come from a table, the user, or a probe; never from a guess in the loop."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

ABILITIES = (
    "tool_call",
    "parallel_calls",
    "forced_tool",
    "json_mode",
    "json_schema",
    "grammar",
    "streaming",
    "reasoning",
    "vision",
)


class Prices(Struct, frozen=True, omit_defaults=True):
    """US dollars per million tokens."""

    input: float
    output: float
    cached: float | None = None
    """Reading from the provider's cache; the input price when not given."""
    cache_write: float | None = None


class Profile(Struct, frozen=True, omit_defaults=True):
    """Facts about a model: its abilities, context window, prices, and what its API accepts."""

    tool_call: bool = False
    parallel_calls: bool = False
    forced_tool: bool = False
    """A tool choice can be forced (needed for level 1 of a structured call)."""
    json_mode: bool = False
    json_schema: bool = False
    grammar: bool = False
    streaming: bool = True
    reasoning: bool = False
    vision: bool = False
    window: int | None = None
    max_output: int | None = None
    prices: Prices | None = None
    dialect: str | None = None
    """The dialect that works best, when a probe has found out."""
    accepts_temperature: bool = True
    token_cap_name: str = "max_tokens"
    """How this model calls the cap on output tokens."""
    forced_tool_while_thinking: bool = True
    replay_reasoning: bool = False
    """The provider wants earlier reasoning sent back."""
    tiny: bool = False
    """Under about a billion parameters: long prompts and worked examples confuse it, it needs the shortest there is."""
    system_role: str = "system"
    """`system`, `developer`, or `user` for models without a system role."""

    def with_abilities(self, abilities: dict[str, Any]) -> Profile:
        """This profile with the user's overrides; an unknown name is an error that lists the known ones."""
        unknown = sorted(set(abilities) - set(self.__struct_fields__))
        if unknown:
            known = ", ".join(ABILITIES)
            raise ValueError(f"unknown ability {unknown[0]!r}; known are: {known}")
        if "tool_call" in abilities:  # what a probe chose rested on what is overridden now
            abilities = {"dialect": None, **abilities}
        if abilities.get("tool_call") is False:
            abilities = {"forced_tool": False, "parallel_calls": False, **abilities}
        return msgspec.structs.replace(self, **abilities)

    @property
    def abilities(self) -> dict[str, bool]:
        return {name: bool(getattr(self, name)) for name in ABILITIES}
