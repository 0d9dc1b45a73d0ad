"""A run that was broken on purpose: how it is made, what is expected, and which change is its known cause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from treadle import Agent
from treadle._inspect.why.changes import Change

QUESTION = "How many people live in Lyon?"


class Broken(Struct, frozen=True):
    """A run that goes wrong, and the change that must be ranked first."""

    name: str
    agent: Callable[[Any], Agent[Any, Any]]
    """Of a journal."""
    is_cause: Callable[[Change], bool]
    names: tuple[str, ...] = ()
    """Words by which a reader of the trace would name the cause: one of them is enough."""
    answer: str = "522250"
    options: Callable[[], dict[str, Any]] = dict
    """What `find_causes` is given besides."""
    history: tuple[Any, ...] = ()
    question: str = QUESTION
    call: str = ""
    """The call that was expected, in place of an answer."""

    @property
    def expected(self) -> dict[str, Any]:
        return {"call": self.call} if self.call else {"answer": self.answer}
