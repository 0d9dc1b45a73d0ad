"""The type variables of agents, runs and results, and the value of `deps` where none were given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

if TYPE_CHECKING:  # only type checkers know defaults of type variables in Python 3.11
    from typing_extensions import TypeVar

    DepsT = TypeVar("DepsT", default=Any)
    DepsT_co = TypeVar("DepsT_co", covariant=True, default=Any)
    OutputT = TypeVar("OutputT", default=str)
    OutputT_co = TypeVar("OutputT_co", covariant=True, default=str)
else:
    DepsT, DepsT_co = TypeVar("DepsT"), TypeVar("DepsT_co", covariant=True)
    OutputT, OutputT_co = TypeVar("OutputT"), TypeVar("OutputT_co", covariant=True)

NO_DEPS: Any = msgspec.UNSET
"""A run that was given no `deps` (None is a value like any other)."""
