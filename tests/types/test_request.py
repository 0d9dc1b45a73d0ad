"""Requests and replies."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given

from strategies import values_of
from treadle._types.messages import UserMessage
from treadle._types.request import (
    CallDelta,
    OutputFormat,
    Reply,
    Request,
    StreamPart,
    TextDelta,
    ToolSchema,
    WireCache,
)
from treadle._types.usage import NO_USAGE


@pytest.mark.parametrize("kind", [ToolSchema, OutputFormat, Reply, CallDelta])
def test_values_survive_json(kind: type[Any]):
    @given(values_of(kind))
    def check(value: Any) -> None:
        assert msgspec.json.decode(msgspec.json.encode(value), type=kind) == value

    check()


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


def test_an_unknown_change_is_an_error():
    with pytest.raises(TypeError, match="temprature"):
        Request(()).replace(temprature=1.0)


def test_each_cache_keeps_its_own():
    one, two = WireCache(), WireCache()
    one.slots["openai"] = [b"{}"]
    assert two.slots == {}


def test_requests_and_replies_cannot_be_changed():
    for value, field in ((Request(()), "messages"), (Reply("x"), "text"), (TextDelta("x"), "text")):
        with pytest.raises(AttributeError):
            setattr(value, field, "y")


def test_an_empty_reply_says_it_stopped_and_cost_nothing():
    reply = Reply()
    assert (reply.text, reply.calls, reply.finish, reply.usage) == ("", (), "stop", NO_USAGE)
