"""JSON documents out of payloads, also from servers that break the rules."""

from __future__ import annotations

import json

import pytest

from kit import row
from models.openai.chat_kit import chunk, read
from treadle._models.transport.failures import Origin
from treadle._models.transport.reader import decode_payload
from treadle._types.errors import (
    BadReplyError,
    TransientModelError,
)


def test_two_events_without_a_blank_line():
    one, two = json.dumps(chunk(content="a")).encode(), json.dumps(chunk("stop", content="b")).encode()
    assert read(one + b"\n" + two)[0].text == "ab"


def test_json_that_is_only_nearly_json():
    for raw, text in [
        (b'{"choices":[{"index":0,"delta":{"content":"a"},"logprobs":NaN,"finish_reason":"stop"}]}', "a"),
        (b'{"choices":[{"index":0,"delta":{"content":"a\x01b"},"finish_reason":"stop"}]}', "a\x01b"),
        (rb'{"choices":[{"index":0,"delta":{"content":"a\ud83d"},"finish_reason":"stop"}]}', "a\ufffd"),
        (rb'{"choices":[{"index":0,"delta":{"content":"\ud83d\ude00"},"finish_reason":"stop"}]}', "\U0001f600"),
        (b'\xef\xbb\xbf{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}', "a"),
    ]:
        with row(raw, text):
            result, _ = read(raw)
            assert result.text == text
            result.text.encode()


def test_nesting_without_end_is_a_typed_error():
    with pytest.raises(BadReplyError):
        read(b'{"a":' * 200_000 + b"1" + b"}" * 200_000)


ORIGIN = Origin("test", "http://127.0.0.1/v1")


def test_a_payload_that_was_cut_off_is_worth_another_attempt_and_one_that_is_not_json_is_not():
    for payload in (b'{"a": [1, 2', b'[{"a"'):
        with pytest.raises(TransientModelError, match="cut off"):
            decode_payload(payload, ORIGIN)
    for payload in (b"<html>", b"{a}", b'{"a": 1} trailing }'):
        with pytest.raises(BadReplyError, match="not JSON"):
            decode_payload(payload, ORIGIN)
    assert decode_payload(b'{"a": 1}\n\n{"b": 2}\n', ORIGIN) == [{"a": 1}, {"b": 2}]
