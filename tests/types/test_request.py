"""Requests and replies."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings

from strategies import values_of
from treadle._types.messages import UserMessage
from treadle._types.request import (
    Request,
    StreamPart,
    WireCache,
)


@settings(max_examples=30)
@given(values_of(StreamPart))
def test_parts_of_a_stream_are_told_apart_by_their_tag(part: StreamPart):
    again = msgspec.json.decode(msgspec.json.encode(part), type=StreamPart)
    assert type(again) is type(part)
    assert again == part


def test_a_changed_request_leaves_the_first_as_it_was():
    first = Request((UserMessage("q"),), temperature=0.2, cache=WireCache())
    second = first.replace(tool_choice="none", max_tokens=5)
    assert (first.tool_choice, first.max_tokens) == ("auto", None)
    assert (second.tool_choice, second.max_tokens, second.temperature) == ("none", 5, 0.2)
    assert second.messages is first.messages
    assert second.cache is first.cache
