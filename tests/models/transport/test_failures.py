"""Failures of providers and networks as typed errors, with keys masked."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import product

import pytest

from kit import row
from treadle._models.transport.failures import Origin, error_for_status, error_in_reply
from treadle._models.transport.http import Endpoint, Timeouts
from treadle._types.errors import (
    ContentFilteredError,
    ContextOverflowError,
    RequestRefusedError,
    TransientModelError,
)

KEY = "top-secret-4711"


ORIGIN = Origin("test", "http://127.0.0.1/v1", [KEY])


def test_a_pause_in_the_message():
    for text, seconds in [
        ("Please try again in 20s. Visit", 20),
        ("Please try again in 1m2.5s.", 62.5),
        ("try again in 350ms", 0.35),
        ("Please retry after 12 seconds", 12),
        ("Please retry in 5 milliseconds", 0.005),
        ("try later", None),
    ]:
        with row(text, seconds):
            error = error_for_status(ORIGIN, 429, {}, json.dumps({"error": {"message": text}}).encode())
            assert isinstance(error, TransientModelError)
            assert error.retry_after == (None if seconds is None else pytest.approx(seconds))


OVERFLOWS = [
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "prompt is too long: 3333404 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, "
    "decrease input length or `max_tokens` and try again",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "the request exceeds the available context size. try increasing the context size or enable context shift",
    "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "prompt too long; exceeded max context length by 1119046 tokens",
    "The total length of all messages is too long.",
    "Please reduce the length of the messages or completion.",
    "Input is too long for requested model.",
    "The number of tokens to keep from the initial prompt is greater than the context length.",
    "Trying to keep the first 5000 tokens when context the overflows. "
    "However, the model is loaded with context length of only 4096 tokens",
    "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000. "
    "The input or output tokens must be reduced",
    "Range of input length should be [1, 30720]",
]


def test_overflow_is_recognised_by_its_message():
    for text, status in product(OVERFLOWS, [400, 429, 500]):
        with row(text, status):
            assert isinstance(
                error_for_status(ORIGIN, status, {}, json.dumps({"error": {"message": text}}).encode()),
                ContextOverflowError,
            )
            assert isinstance(error_in_reply(ORIGIN, {"message": text}), ContextOverflowError)


def test_what_is_not_overflow():
    for text in [
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
        "Too many tokens, please wait before trying again.",
        "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. "
        "Please try again in 2s.",
        "image exceeds the maximum size of 20 MB",
    ]:
        with row(text):
            assert not isinstance(
                error_for_status(ORIGIN, 400, {}, json.dumps({"error": {"message": text}}).encode()),
                ContextOverflowError,
            )


def test_error_bodies_of_any_shape():
    for body, kind in [
        (b'{"error":{"code":"context_length_exceeded","message":"x"}}', ContextOverflowError),
        (b'{"error":{"code":"content_filter","message":"the prompt triggered"}}', ContentFilteredError),
        (b'{"detail":"Invalid API Key"}', RequestRefusedError),
        (b'{"detail":[{"loc":["body"],"msg":"field required"}]}', RequestRefusedError),
        (b'[{"error":{"message":"x","status":"INVALID_ARGUMENT"}}]', RequestRefusedError),
        (b"<html>nginx</html>", RequestRefusedError),
        (b"\xff\xfe", RequestRefusedError),
        (b"", RequestRefusedError),
        (b"null", RequestRefusedError),
        (b'{"error":null}', RequestRefusedError),
        (b'{"error":{"message":{"a":1}}}', RequestRefusedError),
    ]:
        with row(body, kind):
            assert type(error_for_status(ORIGIN, 400, {}, body)) is kind


def test_no_credit_is_not_worth_a_retry():
    body = b'{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}'
    assert type(error_for_status(ORIGIN, 429, {}, body)) is RequestRefusedError


def test_errors_inside_a_reply():
    for error, kind in [
        ({"message": "Overloaded", "type": "overloaded_error"}, TransientModelError),
        ({"message": "Provider returned error", "code": 502}, TransientModelError),
        ({"message": "slow", "code": "429"}, TransientModelError),
        ({"message": "The server had an error", "type": "server_error"}, TransientModelError),
        ("something broke", TransientModelError),
        ({"message": "bad", "type": "invalid_request_error"}, RequestRefusedError),
        ({"message": "Invalid API key"}, RequestRefusedError),
        ({"message": "no", "code": 403}, RequestRefusedError),
        ({"message": "filtered", "code": "content_filter"}, ContentFilteredError),
    ]:
        with row(error, kind):
            assert type(error_in_reply(ORIGIN, error)) is kind


def test_keys_are_masked_everywhere():
    origin = Origin("test", "http://x", [KEY])
    assert KEY not in repr(origin)
    assert KEY not in repr(Endpoint("http://x", {"authorization": KEY}, origin, Timeouts()))
    for text in (f"a {KEY} b", "key sk-proj-abcdef123456 is wrong", "Bearer abc.def", "AIzaSyA1234567890abcdefghij"):
        message = origin.message(text)
        assert "***" in message
        assert "abc" not in message
        assert KEY not in message


def test_a_pause_until_a_timestamp_is_read():
    now = datetime.now(UTC)
    for headers in (
        {"retry-after": format_datetime(now + timedelta(seconds=90), usegmt=True)},
        {"x-ratelimit-reset": str(int((now.timestamp() + 90) * 1000))},
        {"x-ratelimit-reset": str(int(now.timestamp() + 90))},
    ):
        error = error_for_status(ORIGIN, 429, headers, b"")
        assert isinstance(error, TransientModelError)
        assert error.retry_after == pytest.approx(90, abs=10)


def test_a_server_that_has_no_tools_is_not_asked_again_whatever_its_status():
    for text, refused in [
        ("tools param requires --jinja flag", True),
        ("registry.ollama.ai/library/gemma:2b does not support tools", True),
        ("the tool parser crashed", False),
    ]:
        with row(text, refused):
            body = json.dumps({"error": {"code": 500, "message": text, "type": "server_error"}}).encode()
            error = error_for_status(Origin("llamacpp", "http://localhost:8080/v1"), 500, {}, body)
            assert isinstance(error, RequestRefusedError) is refused


def test_a_refused_key_names_the_variable_it_comes_from():
    origin = Origin("openai", "https://api.openai.com/v1", key_env="OPENAI_API_KEY")
    assert "check that the key in OPENAI_API_KEY is right" in str(error_for_status(origin, 401, {}, b""))
    assert "check that the key is right" in str(error_for_status(Origin("own", "http://h"), 401, {}, b""))
