"""Requests that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from server.serving import Client, relaxed, serving, talker


@pytest.fixture(scope="module")
def unguarded() -> Iterator[Client]:
    with serving(talker()) as client:
        yield client


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"not json",
        b"\xff\xfe\x00",
        b'{"question": "\xff"}',
        b'{"question": "\\ud800"}',
        b'{"question": 5}',
        b'{"question": ""}',
        b'{"question": null}',
        b"[]",
        b"null",
        b'{"question": "?", "nonsense": 1}',
        b'{"question": "?", "history": [{"role": "tool", "content": "x"}]}',
        b'{"question": "?", "settings": {"temperature": "hot"}}',
        b'{"question": "?", "settings": {"temperature": 1e999}}',
        b'{"question": "?", "run_id": "../../etc"}',
        b'{"question": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"question": "?", "metadata": ' + b"[" * 300 + b"]" * 300 + b"}",
        b'{"question": "?", "history": [{"role": "user", "content": "x", "content": "y"}]}',
        b'{"question": "one", "question": "two"}',
        b'{"question": "?"} trailing',
    ],
    ids=lambda raw: raw[:40].decode("latin-1"),
)
def test_bodies_that_cannot_be_used(raw: bytes, unguarded: Client):
    refused = unguarded.ask("POST", "/api/runs", raw=raw)
    assert refused.status == 400, refused.data
    assert refused.json["error"]["type"] == "bad_request"
    assert len(refused.error) < 500


def test_nul_and_friends_survive():
    with serving(talker()) as client:
        question = "a\u0000b\u2028c\u202e \U0001f600"
        run = client.start(question)
        assert client.wait(run)["question"] == question


def test_giant_bodies():
    with serving(talker(), settings=relaxed(max_body=10_000)) as client:
        declared = client.ask("POST", "/api/runs", raw=b'{"question": "' + b"x" * 20_000 + b'"}')
        assert (declared.status, declared.json["error"]["type"]) == (413, "too_large")
        connection = client.connect()
        connection.putrequest("POST", "/api/runs")
        connection.putheader("content-type", "application/json")
        connection.putheader("transfer-encoding", "chunked")
        connection.endheaders()
        for _ in range(
            10
        ):  # the last one is too much; after it nothing may be on its way, or the answer is lost with the connection
            connection.send(b"400\r\n" + b"x" * 1024 + b"\r\n")
        assert connection.getresponse().status == 413
        connection.close()
