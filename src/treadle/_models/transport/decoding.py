"""JSON documents out of the payload of a response, also from servers that break the rules."""

from __future__ import annotations

from typing import Any

import msgspec

from treadle._models.transport.failures import Origin, bad_reply, connection_lost
from treadle._models.transport.wire import UNREADABLE, replace_surrogates


def decode_payload(payload: bytes, origin: Origin) -> list[Any]:
    """The JSON documents in a payload. Usually one; some servers omit the blank line between two events."""
    try:
        return [msgspec.json.decode(payload)]
    except UNREADABLE:
        pass
    try:
        return [_decode_leniently(payload)]
    except (ValueError, RecursionError):
        pass
    try:
        return [_decode_leniently(line) for line in payload.split(b"\n") if line.strip()]
    except (ValueError, RecursionError):
        if payload.startswith((b"{", b"[")) and not payload.rstrip().endswith((b"}", b"]")):
            raise connection_lost(origin, "the reply was cut off") from None
        raise bad_reply(origin, "the reply is not JSON", payload) from None


def _decode_leniently(payload: bytes) -> Any:
    """Python's own decoder takes what the strict one refuses: NaN, raw control characters, half a surrogate pair."""
    from json import loads

    return replace_surrogates(loads(payload.decode("utf-8-sig", "replace"), strict=False))
