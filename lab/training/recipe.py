"""How an adapter learns: what recipes of a training differ in."""

from __future__ import annotations

from typing import NamedTuple


class Recipe(NamedTuple):
    """How it learns. What it learns by heart is of no use elsewhere: `training.sweep` compares recipes by that."""

    rate: float = 4e-4
    """Ten times what one would take for all weights, as published sweeps of low-rank adapters find best."""
    dropout: float = 0.0
    """Part of what an adapter sees that is left out."""
    decay: float = 0.0
    free: float = 1.0
    """How much words of an answer count that tell nothing (`training.telling`), beside 1 for all else."""


def recipe_of(text: str) -> Recipe:
    """Of `rate=2e-4,dropout=0.1`; what is not named is as usual."""
    parts = dict(part.split("=") for part in text.split(",") if part)
    return Recipe(**{name: float(value) for name, value in parts.items()})
