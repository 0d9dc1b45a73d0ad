"""Readers of text from outside run beside the event loop where it is long, so that other runs, cancellation and budgets
go on meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from treadle._lazy import lazy_module

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = lazy_module("asyncio")

P = ParamSpec("P")
R = TypeVar("R")
LONG = 10_000
"""Characters; the slowest dialect reads so many in less than 20 ms."""


async def read_beside(size: int, read: Callable[P, R], *args: P.args, **options: P.kwargs) -> R:
    """Return what a reader makes of a text of that size."""
    return read(*args, **options) if size < LONG else await asyncio.to_thread(read, *args, **options)
