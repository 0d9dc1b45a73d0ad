"""What a world can know about: kinds of things, their attributes, and how one leads to another.

`Attribute.names` has the attribute's name in other languages; only those that have one are asked about there.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from training.worlds import words as w

Value = int | float | str
Values = Callable[[random.Random], Value]


class Attribute(NamedTuple):
    name: str
    unit: str
    values: Values
    names: tuple[str, str, str] | None = None
    """German, French, Spanish."""

    @property
    def numeric(self) -> bool:
        return bool(self.unit)


class Kind(NamedTuple):
    name: str
    keys: w.Source
    parameters: tuple[str, ...]
    """How tools call the parameter that names one."""
    attributes: tuple[Attribute, ...]
    relations: tuple[tuple[str, str], ...] = ()
    """What it is related to: the relation's name and the kind at its end."""


def whole(low: int, high: int) -> Values:
    return lambda r: r.randint(low, high)


def amount(low: float, high: float, digits: int = 2) -> Values:
    return lambda r: round(r.uniform(low, high), digits)


def one_of(*values: str) -> Values:
    return lambda r: r.choice(values)
