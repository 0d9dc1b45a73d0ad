"""The encoder of server-sent events, and the response that sends them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from server.serving import parse
from treadle._server.errors import ApiError
from treadle._server.live.positions import ClientEvent, Position
from treadle._server.live.sse import EventStream, encode
from treadle._server.protocols.exchange import data, named_data
from treadle._types.errors import JournalError
from virtual_time import go_virtual


def test_events_survive_the_encoding():
    events = [
        ClientEvent("answer", {"content": "line one\nline two\r\n\u2028"}, Position(3, 7)),
        ClientEvent("done", {"answer": ""}, Position(4)),
    ]
    lines = b"".join(encode(events)).splitlines(keepends=True)
    assert list(parse(lines)) == [
        {"id": "3.7", "event": "answer", "data": {"content": "line one\nline two\r\n\u2028"}},
        {"id": "4", "event": "done", "data": {"answer": ""}},
    ]


def test_text_cannot_begin_an_event_for_clients_that_know_the_line_ends_of_unicode():
    text = "".join(
        f"{end}data: {{}}" for end in ("\n", "\r", "\x0b", "\x0c", "\x1c", "\x1e", "\x85", "\u2028", "\u2029")
    )
    event = ClientEvent("answer", {"content": text}, Position(1))
    for sent in (b"".join(encode([event])), data(event.data), named_data("answer", event.data)):
        [line] = [line for line in sent.decode().splitlines() if line.startswith("data:")]
        assert json.loads(line.removeprefix("data: ")) == {"content": text}


def test_much_text_comes_in_several_chunks():
    events = [ClientEvent("answer", {"content": "x" * 50_000}, Position(number)) for number in range(5)]
    assert len(list(encode(events))) == 3
    assert list(encode([])) == []


Plan = Sequence[tuple[float, bytes | Exception]]


def sent_at(plan: Plan, **options: Any) -> list[tuple[float, int | bytes]]:
    """What a response sends, and when, whose chunks and errors come after the pauses of a plan; all without waiting."""
    sent: list[tuple[float, int | bytes]] = []

    async def chunks() -> AsyncGenerator[bytes, None]:
        for pause, chunk in plan:
            await asyncio.sleep(pause)
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk

    async def main() -> None:
        async def send(message: Any) -> None:
            sent.append((asyncio.get_running_loop().time(), message.get("status") or message["body"]))

        async def receive() -> Any:
            await asyncio.Event().wait()

        whole: list[float] = []

        async def on_sent() -> None:
            whole.append(1)

        response = EventStream(
            chunks(),
            send_timeout=600.0,
            heartbeat=15.0,
            on_end=lambda: None,
            on_sent=on_sent,
            alive=b"alive ",
            failed=lambda error: error.message.encode(),
            **options,
        )
        response.on_begin = lambda status: sent.append((asyncio.get_running_loop().time(), -status))
        await response({"type": "http"}, receive, send)
        assert whole, "all of it was sent"

    go_virtual(main())
    return sent


BUSY = ApiError(503, "run_failed", "busy")


def test_an_opening_goes_with_the_first_chunk():
    assert sent_at([(9.0, b"one")], opening=b"opening ") == [(9.0, -200), (9.0, 200), (9.0, b"opening one"), (9.0, b"")]


@pytest.mark.parametrize("error", [BUSY, JournalError("busy")])
def test_a_failure_before_the_first_chunk_is_the_response(error: Exception):
    [counted, status, (at, body), *rest] = sent_at([(14.0, error)], opening=b"opening ")
    assert (counted, status, at, rest) == ((14.0, -503), (14.0, 503), 14.0, [])
    assert json.loads(body)["error"]["code"] == 503


def test_a_failure_after_the_opening_is_in_the_stream():
    sent = sent_at([(31.0, BUSY)], opening=b"opening ")
    assert sent[1:] == [(15.0, 200), (15.0, b"opening alive "), (30.0, b"alive "), (31.0, b"busy"), (31.0, b"")]
    assert [body for _, body in sent_at([(0.0, BUSY)])][1:] == [200, b"busy", b""], "nothing was held"


def test_only_a_silent_stream_says_that_it_is_alive():
    plan = [(10.0, b"one"), (14.0, b"two"), (40.0, b"three")]
    alive = [(at, body) for at, body in sent_at(plan) if body == b"alive "]
    assert alive == [(39.0, b"alive "), (54.0, b"alive ")]
