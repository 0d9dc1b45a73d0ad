"""What is true of every event."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import values_of
from treadle._types.events import Event, decode_event, encode_event
from treadle._types.value import EventBase

EVENTS: list[Any] = list(get_args(Event))


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_every_event_survives_the_journals_encoding(kind: type[Any]):
    @settings(max_examples=25)
    @given(values_of(kind))
    def check(event: Event) -> None:
        again = decode_event(encode_event(event))
        assert type(again) is kind
        assert again == event
        assert encode_event(again) == encode_event(event)

    check()


@given(st.sampled_from(EVENTS).flatmap(values_of))
def test_no_event_can_be_changed(event: Any):
    for field in (*event.__struct_fields__, "added"):
        with pytest.raises(AttributeError):
            setattr(event, field, None)


def test_every_event_has_a_tag_of_its_own():
    tags = [kind.__struct_config__.tag for kind in EVENTS]
    assert len(set(tags)) == len(tags)
    assert all(kind.__struct_config__.tag_field == "type" for kind in EVENTS)
    assert all(issubclass(kind, EventBase) for kind in EVENTS)


@given(st.sampled_from(EVENTS).flatmap(values_of))
def test_what_is_not_said_is_not_written_out(event: Any):
    required = {field.name: getattr(event, field.name) for field in msgspec.structs.fields(event) if field.required}
    assert msgspec.json.decode(encode_event(type(event)(**required))).keys() == {"type", *required}
