"""The encoder of server-sent events, and the response that sends them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from kit import go
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


class Ended:
    """What a response did with its generator and its caller."""

    def __init__(self) -> None:
        self.closed = False
        self.released = 0

    async def chunks(self, *parts: bytes, forever: bool) -> AsyncGenerator[bytes, None]:
        try:
            for part in parts:
                yield part
            if forever:
                await asyncio.Event().wait()
        finally:
            self.closed = True

    def release(self) -> None:
        self.released += 1


def respond(ended: Ended, send: Any, *, forever: bool, gone: bool = False, send_timeout: float = 600.0) -> None:
    async def receive() -> dict[str, Any]:
        if not gone:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def main() -> None:
        chunks = ended.chunks(b"one", b"two", forever=forever)
        response = EventStream(chunks, send_timeout=send_timeout, heartbeat=600.0, on_end=ended.release)
        await response({"type": "http"}, receive, send)

    go(main())


def test_a_stream_that_ends():
    ended, sent = Ended(), []

    async def send(message: Any) -> None:
        sent.append(message)

    respond(ended, send, forever=False)
    assert [message.get("body") for message in sent] == [None, b"one", b"two", b""]
    assert (ended.closed, ended.released) == (True, 1)


def test_a_client_that_disconnects():
    ended = Ended()

    async def send(message: Any) -> None:
        pass

    respond(ended, send, forever=True, gone=True)
    assert (ended.closed, ended.released) == (True, 1)


def test_a_client_that_does_not_read():
    ended = Ended()

    async def send(message: Any) -> None:
        if message.get("body") == b"two":
            await asyncio.Event().wait()

    respond(ended, send, forever=True, send_timeout=0.01)
    assert (ended.closed, ended.released) == (True, 1)


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
