"""Bounds of numeric settings, beside the setting: `timeout: Seconds = 10.0`, checked when the value is made.

A struct calls `check_fields` in `__post_init__`; a function or a constructor is decorated with `bounded`. What is out
of bounds raises `WrongValueError` there, and not when it first makes a difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from inspect import get_annotations
from typing import Annotated, Any, ParamSpec, TypeVar

from msgspec import Struct

from treadle._types.errors import WrongValueError

P = ParamSpec("P")
R = TypeVar("R")


class Bound(Struct, frozen=True):
    """The range and kind of number that a setting accepts."""

    words: str
    least: float = -math.inf
    most: float = math.inf
    exclusive: bool = False
    """Whether `least` itself is too small."""
    whole: bool = False

    def allows(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int if self.whole else (int, float)):
            return False
        if isinstance(value, float) and not math.isfinite(value):
            return False
        return (value > self.least if self.exclusive else value >= self.least) and value <= self.most


_BOUNDS = {
    "Count": Bound("a whole number of at least 1", 1, whole=True),
    "Amount": Bound("a whole number of at least 0", 0, whole=True),
    "Whole": Bound("a whole number", whole=True),
    "Seconds": Bound("a number of seconds above 0", 0, exclusive=True),
    "Pause": Bound("a number of seconds of at least 0", 0),
    "Positive": Bound("a number above 0", 0, exclusive=True),
    "NotNegative": Bound("a number of at least 0", 0),
    "Share": Bound("a number between 0 and 1", 0, 1),
}

Count = Annotated[int, _BOUNDS["Count"]]
Amount = Annotated[int, _BOUNDS["Amount"]]
Whole = Annotated[int, _BOUNDS["Whole"]]
Seconds = Annotated[float, _BOUNDS["Seconds"]]
Pause = Annotated[float, _BOUNDS["Pause"]]
Positive = Annotated[float, _BOUNDS["Positive"]]
NotNegative = Annotated[float, _BOUNDS["NotNegative"]]
Share = Annotated[float, _BOUNDS["Share"]]


def check_fields(value: Struct, prefix: str = "") -> None:
    """Refuse a struct with a field out of its bounds; `prefix` says whose field it is."""
    for name, bound, optional in _bounded_fields(type(value)):
        _check(f"{prefix}{name}", getattr(value, name), bound, optional)


def bounded(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function so that it refuses numbers outside the bounds in its signature."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    bounds = {name: (bound, optional) for name, bound, optional in _bounds_in(function.__annotations__)}
    whose = function.__qualname__.removesuffix(".__init__")

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name, value in (*zip(names, args, strict=False), *kwargs.items()):
            if name in bounds:
                _check(f"{name} of {whose}", value, *bounds[name])
        return function(*args, **kwargs)

    return checked


def _check(name: str, value: object, bound: Bound, optional: bool) -> None:
    if not bound.allows(value) and not (optional and value is None):
        none = ", or None" if optional else ""
        raise WrongValueError(f"{name} is {value!r}, and it must be {bound.words}{none}")


@lru_cache(maxsize=256)
def _bounded_fields(struct: type[Struct]) -> tuple[tuple[str, Bound, bool], ...]:
    annotations: dict[str, Any] = {}
    for base in reversed(struct.__mro__):
        annotations |= get_annotations(base)
    return tuple(_bounds_in(annotations))


def _bounds_in(annotations: Mapping[str, Any]) -> list[tuple[str, Bound, bool]]:
    """Match annotations by name: they are text, and resolving them would import modules that only types need."""
    fields: list[tuple[str, Bound, bool]] = []
    for name, annotation in annotations.items():
        parts = [part.strip() for part in str(annotation).split("|")]
        fields += [(name, _BOUNDS[part], "None" in parts) for part in parts if part in _BOUNDS]
    return fields
