"""What every event is."""

from __future__ import annotations

from treadle._types.value import Value


class EventBase(Value, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    """A frozen value with a tag; defaults are not written out."""
