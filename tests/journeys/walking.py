"""What a journey is made of: a title, the surface it is walked on, and steps in words."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def journey(title: str, on: str) -> Callable[[F], F]:
    """Name a journey. The matrix of the documentation is made of these names (scripts/journeys.py)."""

    def named(walk: F) -> F:
        walk.__doc__ = f"{title}, {on}"
        return walk

    return named


@contextmanager
def step(words: str) -> Generator[None]:
    """One step; its words are with the error where it fails."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in the step: {words}")
        raise
