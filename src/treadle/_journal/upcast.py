"""Old logs in new shapes: what was stored under an earlier `SCHEMA` is brought up one version at a time before it is decoded.

To change a stored event: raise `SCHEMA` in `types/events.py` and add an entry here, keyed by the version it was written
with and its type. An upcaster gets the event as plain JSON and returns it in the next version's shape; it may give it
another `type`. Records carry their schema each, because an old run that is resumed goes on in the new shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from treadle._types.errors import JournalError
from treadle._types.events import SCHEMA, Event, decode_event

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

UPCASTERS: dict[tuple[int, str], Upcaster] = {}


def upcast(type: str, data: dict[str, Any], schema: int) -> dict[str, Any]:
    """The event `data` as today's `SCHEMA` writes it."""
    for version in range(schema, SCHEMA):
        if step := UPCASTERS.get((version, type)):
            data = step(data)
            type = data["type"]
    return data


def decode_stored(data: bytes | str, schema: int) -> Event:
    """An event from its stored JSON, whatever version wrote it."""
    if schema == SCHEMA:
        return decode_event(data)
    if schema > SCHEMA:
        raise JournalError(
            f"the log was written by a newer Treadle (event schema {schema}, this one reads up to {SCHEMA}): upgrade Treadle"
        )
    old: dict[str, Any] = msgspec.json.decode(data, type=dict[str, Any])
    return decode_event(msgspec.json.encode(upcast(old["type"], old, schema)))
