"""The differences between ways to run the same scenario, each with its reason. Whatever is not here must not differ."""

from __future__ import annotations

from msgspec import Struct


class Difference(Struct, frozen=True):
    fields: tuple[str, ...]
    """The fields of the outcome that differ."""
    reason: str


def differ(fields: str, reason: str) -> Difference:
    return Difference(tuple(fields.split()), reason)


_STREAM_ENDS = "a stream ends where the run pauses; the run goes on with `agent.resume`"
_FACADE_REFUSES = "the protocol has no pause: the error says where to decide"

DIFFERENCES: dict[tuple[str, str], Difference] = {
    ("approval", "stream"): differ("answer stop_reason success events", _STREAM_ENDS),
    ("approval", "deltas"): differ("answer", _STREAM_ENDS),
    ("approval", "text"): differ("answer", _STREAM_ENDS),
    ("approval", "facade"): differ("answer stop_reason tokens", _FACADE_REFUSES),
    ("approval", "facade stream"): differ("answer stop_reason tokens", _FACADE_REFUSES),
}
NOT_OFFERED: dict[tuple[str, str], str] = {
    ("unreadable reply, then repaired", "terminal"): "a script file cannot say that a reply was cut",
    ("structured output", "terminal"): "the program has no option for the type of the answer",
}
