"""A client's place in the stream of a run, and the events it gets, each with such a place."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Position(Struct, frozen=True, order=True):
    """A position in a client's stream. `offset` is -1 for the first event of a record."""

    seq: int = -1
    offset: int = -1

    def __str__(self) -> str:
        return str(self.seq) if self.offset < 0 else f"{self.seq}.{self.offset}"


START = Position()


def read_position(text: str) -> Position | None:
    """The position a `Last-Event-ID` names; None if it is not one of ours."""
    seq, dot, offset = text.strip().partition(".")
    if not (seq.isascii() and seq.isdigit()) or len(seq) > 15 or len(offset) > 15:
        return None
    if not dot:
        return Position(int(seq))
    return Position(int(seq), int(offset)) if offset.isascii() and offset.isdigit() else None


class ClientEvent(Struct, frozen=True):
    """One event as a client gets it."""

    name: str
    data: dict[str, Any]
    at: Position
    text_from: int = -1
    """For a piece of text: where it begins in its message. It ends at `at.offset`."""

    opens: bool = False
    """It stands directly before text that begins at `at`: a client that is there may not have seen it."""

    def after(self, position: Position) -> ClientEvent | None:
        """Return what of this event a client at `position` has not seen yet."""
        if self.at <= position and not (self.opens and self.at == position):
            return None
        if self.text_from >= 0 and position.seq == self.at.seq and position.offset > self.text_from:
            content = str(self.data["content"])[position.offset - self.text_from :]
            return ClientEvent(self.name, {**self.data, "content": content}, self.at, position.offset)
        return self
