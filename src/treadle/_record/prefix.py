"""Compares a request with the one before it, byte by byte, and computes what the difference has cost."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from treadle._types.profile import Profile

_AROUND = 40
"""Bytes that are shown before and after the place where two requests differ."""


class Prefix(Struct, frozen=True):
    """The fields of `Exchanged` about the request before."""

    compared: int = 0
    kept: int = 0
    broke: str = ""
    before: str = ""
    after: str = ""
    lost_tokens: int = 0
    lost_cost: float | None = None


def compared(
    earlier: Sequence[tuple[str, bytes]], now: Sequence[tuple[str, bytes]], tokens: int, profile: Profile
) -> Prefix:
    """How much of the earlier request this one begins with. `tokens` are those of the earlier one."""
    if not earlier:
        return Prefix()
    total = sum(len(data) for _, data in earlier)
    equal = 0
    for index, (name, data) in enumerate(earlier):
        other_name, other = now[index] if index < len(now) else ("", b"")
        if name == other_name and data == other:
            equal += len(data)
            continue
        at = _first_difference(data, other) if name == other_name else 0
        equal += at
        lost = round((tokens or total // 4) * (total - equal) / total)
        excerpt = slice(max(0, at - _AROUND), at + _AROUND)
        return Prefix(total, equal, name, _text(data[excerpt]), _text(other[excerpt]), lost, _cost(lost, profile))
    return Prefix(total, equal)


def _first_difference(one: bytes, other: bytes) -> int:
    """By halves: these may be megabytes."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _cost(tokens: int, profile: Profile) -> float | None:
    """Compute what reading the tokens from a cache would have saved."""
    prices = profile.prices
    if prices is None or prices.cached is None:
        return None
    return tokens * (prices.input - prices.cached) / 1_000_000
