"""Replies of the Messages API: streamed thoughts, why a reply ended, what it cost."""

from __future__ import annotations

import pytest

from kit import row
from models.anthropic.messages_kit import (
    message,
    read,
)


def test_thoughts_that_streamed_are_put_together():
    events = [
        {"type": "message_start", "message": message([], "")},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "h"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "m"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "sig1"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": "zzz"}},
        {"type": "content_block_stop", "index": 1},
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}},
        },
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"a":'}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "1}"}},
        {"type": "content_block_stop", "index": 2},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    result = read(*events)
    assert result.opaque is not None
    assert result.opaque["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig1"},
        {"type": "redacted_thinking", "data": "zzz"},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
    ]


def test_nothing_is_kept_where_nothing_is_needed():
    assert read(message([{"type": "text", "text": "hi"}])).opaque is None


def test_finish():
    for stop, finish in [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("odd", "unknown"),
    ]:
        with row(stop, finish):
            assert read(message([{"type": "text", "text": "x"}], stop)).finish == finish


def test_wrong_finish_reasons_are_corrected():
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    assert read(message([use], "end_turn")).finish == "calls"
    assert read(message([{"type": "text", "text": "x"}], "tool_use")).finish == "stop"


def test_a_refusal_explains_itself():
    result = read(message([], "refusal", stop_details={"type": "refusal", "explanation": "Not that."}))
    assert (result.text, result.finish) == ("Not that.", "refusal")


def test_tokens_written_to_the_cache_are_counted_and_paid():
    usage = {
        "input_tokens": 1000,
        "cache_read_input_tokens": 2000,
        "cache_creation_input_tokens": 4000,
        "output_tokens": 100,
    }
    result = read(
        message([{"type": "text", "text": "x"}], usage=usage | {"output_tokens_details": {"thinking_tokens": 60}})
    ).usage
    assert (result.input_tokens, result.cached_tokens, result.cache_write_tokens, result.reasoning_tokens) == (
        7000,
        2000,
        4000,
        60,
    )
    assert result.cost == pytest.approx((1000 * 3 + 2000 * 0.3 + 4000 * 3.75 + 100 * 15) / 1e6)
