"""Errors as responses."""

from __future__ import annotations

import json

import pytest

from treadle import TreadleError
from treadle._server.errors import ApiError, error_response, from_engine, not_found, too_many
from treadle._types.errors import ConfigError, JournalError, RunBusyError, RunNotFoundError


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (RunNotFoundError("there is no run 'x'"), 404, "not_found"),
        (RunBusyError("another process drives run x"), 409, "conflict"),
        (ConfigError("wrong value"), 400, "bad_request"),
        (JournalError("disk full: /secret/path"), 503, "journal_unavailable"),
        (TreadleError("internal detail"), 500, "internal"),
    ],
)
def test_an_error_of_the_engine(error: TreadleError, status: int, kind: str):
    response = from_engine(error)
    assert (response.status, response.kind) == (status, kind)
    assert (str(error) in response.message) == (status < 500), "what a client cannot act on stays in the log"


def test_the_body_and_the_headers():
    response = error_response(too_many("send them more slowly", 0.2))
    assert json.loads(response.body) == {
        "type": "error",
        "error": {"type": "too_many_requests", "message": "send them more slowly", "code": 429},
    }
    assert response.headers["retry-after"] == "1", "never 0: the client would try again at once"
    assert error_response(ApiError(401, "unauthorized", "a token is needed")).headers["www-authenticate"] == "Bearer"
    assert error_response(ApiError(413, "too_large", "too large")).headers["connection"] == "close"
    assert "retry-after" not in error_response(not_found("run 'x'")).headers


def test_a_hint_follows_what_is_missing():
    assert not_found("agent 'x'", "expected one of: a, b").message == "there is no agent 'x'; expected one of: a, b"
