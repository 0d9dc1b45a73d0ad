"""The values that the lenient parser returns: what was read, which part of it is complete, and where reading failed."""

from __future__ import annotations

from typing import Any, NamedTuple

UNCLOSED = "a closing bracket is missing, so something may be missing at its end"


class Completeness(NamedTuple):
    """Says which containers of a value were written to the end, in a reply that was cut by a length limit or not."""

    open: frozenset[int] = frozenset()
    """The ids of the containers whose closing bracket is missing."""
    all_values: bool = True
    """Every value that was begun is complete (only closing brackets may be missing)."""
    cut: bool = False
    """The reply ended at a length limit."""

    def covers(self, container: object, within: object = None) -> bool:
        """Return whether `container` may be used.

        It may when it is closed. In a reply that ended by itself, missing brackets alone do no harm; in a cut reply the
        object `within` which it stands must be closed too.
        """
        if self.all_values and not self.cut:
            return True
        return id(container) not in self.open and not (self.cut and id(within) in self.open)


COMPLETE = Completeness()


class Parsed(NamedTuple):
    """A value and where it stands in the text."""

    value: Any
    start: int
    end: int
    open: frozenset[int] = frozenset()
    """The ids of the containers whose closing bracket is missing."""
    all_values: bool = True
    """Every value that was begun is complete (only closing brackets may be missing)."""
    has_keys: bool = True
    """At least one key was read: this is JSON, not a bracket in prose."""
    partial: tuple[str, str] | None = None
    """The outermost object's key whose text was cut off, and the part of the text that is there."""
    doubt: str = ""
    """Why the value may not be what was meant, although it could be read. Empty when it has one meaning only."""

    @property
    def closed(self) -> bool:
        return not self.open

    @property
    def repair(self) -> str:
        """Return what was put right to read it; empty when nothing had to be."""
        return self.doubt or (UNCLOSED if self.open else "")

    def completeness(self, cut: bool) -> Completeness:
        return Completeness(self.open, self.all_values, cut)


class PythonCall(NamedTuple):
    """A call in Python syntax: `name(positional, key=named)`."""

    name: str
    positional: list[Any]
    named: dict[str, Any]


class UnreadableJson(Exception):
    """The text is not JSON even when read leniently.

    `has_keys` when it was JSON up to there: values inside it must then not be taken for values of their own.
    """

    def __init__(self, position: int, has_keys: bool) -> None:
        super().__init__(f"not JSON at character {position}")
        self.position = position
        self.has_keys = has_keys
