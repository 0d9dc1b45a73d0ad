"""One exchange over a connection: bodies, streams, faults, time-outs, sessions."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from itertools import product, repeat
from typing import Any

import pytest

from kit import row
from models.loopback import Answer, Loopback, reply, split, stream
from treadle._models.transport import http
from treadle._models.transport.failures import Origin, error_for_status
from treadle._models.transport.http import Endpoint, Exchange, Timeouts
from treadle._types.errors import (
    BadReplyError,
    ModelError,
    RequestRefusedError,
    TransientModelError,
)

KEY = "top-secret-4711"


ORIGIN = Origin("test", "http://127.0.0.1/v1", [KEY])


def endpoint(url: str, **timeouts: float) -> Endpoint:
    return Endpoint(
        url + "/v1",
        {"authorization": f"Bearer {KEY}", "content-type": "application/json"},
        ORIGIN,
        Timeouts(**timeouts),
    )


async def send(url: str, body: bytes = b"{}", **timeouts: float) -> list[bytes]:
    payloads: list[bytes] = []
    async with Exchange(endpoint(url, **timeouts), body) as answer:
        while batch := await answer.batch():
            payloads += batch
    return payloads


def exchange(answer: Answer, **timeouts: float) -> list[bytes]:
    async def main() -> list[bytes]:
        async with Loopback([answer]) as server:
            return await send(server.url, **timeouts)

    return asyncio.run(main())


def fails(answer: Answer, **timeouts: float) -> ModelError:
    with pytest.raises(ModelError) as caught:
        exchange(answer, **timeouts)
    assert KEY not in repr(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.usage.requests == 1
    return caught.value


BODY = json.dumps({"text": "grüße 😀" * 50}, ensure_ascii=False).encode()


def test_a_whole_body_comes_as_one_payload():
    for answer in [
        Answer(pieces=[BODY], length=True),
        Answer(pieces=split(BODY, 7)),
        Answer(pieces=split(BODY, 7), gzipped=True),
        Answer(pieces=[BODY], gzipped=True, length=True),
        Answer(pieces=[BODY], no_framing=True),
        Answer(pieces=[b"\n\n   \n", BODY], headers={"content-type": "text/plain"}),
        Answer(pieces=[b"data: ", BODY, b"\n\n"], headers={"content-type": "application/octet-stream"}),
        Answer(pieces=[BODY], headers={}),
    ]:
        with row(answer):
            assert exchange(answer) == [BODY]


def test_a_stream_comes_event_by_event():
    for gzipped, size in product([False, True], [3, 7, 10_000]):
        with row(gzipped, size):
            data = b": hi\r\n\r\ndata: " + BODY + b"\r\n\r\ndata: 2\n\ndata: [DONE]"
            assert exchange(stream(*split(data, size), gzipped=gzipped)) == [BODY, b"2", b"[DONE]"]


@pytest.mark.parametrize(("size", "beside"), [(100, False), (40_000, True)])
def test_a_long_error_is_read_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch, size: int, beside: bool):
    threads: list[threading.Thread] = []

    def read(*args: Any) -> ModelError:
        threads.append(threading.current_thread())
        return error_for_status(*args)

    monkeypatch.setattr(http, "error_for_status", read)
    assert "bad key" in str(fails(reply({"error": {"message": "bad key " * (size // 8)}}, 400)))
    assert (threads[0] is not threading.main_thread()) is beside


def test_the_pause_a_server_asks_for_is_read():
    for headers, low, high in [
        ({"retry-after": "7"}, 7, 7),
        ({"retry-after": "0"}, 0, 0),
        ({"retry-after": "1.5"}, 1.5, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0, 0),
        ({"x-ratelimit-reset-requests": "6m0s", "x-ratelimit-remaining-requests": "0"}, 360, 360),
        ({"x-ratelimit-reset-tokens": "120ms"}, 0.12, 0.12),
        ({"x-ratelimit-reset": "12"}, 12, 12),
    ]:
        with row(headers, low, high):
            error = fails(reply({"error": "slow down"}, 429, **headers))
            assert isinstance(error, TransientModelError)
            assert error.retry_after is not None
            assert low <= error.retry_after <= high


def test_a_senseless_pause_is_ignored():
    for value in ["soon", "nan", "inf", "-3", "", "1e99"]:
        with row(value):
            error = fails(reply({"error": "slow down"}, 503, **{"retry-after": value}))
            assert isinstance(error, TransientModelError)
            assert error.retry_after is None


def test_silence_is_transient():
    for answer in [stream("data: 1\n\n", fault="stall"), Answer(pieces=[b"{"], fault="stall")]:
        with row(answer):
            error = fails(answer, stall=0.2)
            assert isinstance(error, TransientModelError)
            assert "silent for 0.2 s" in str(error)


def test_a_slow_start_is_not_silence():
    answer = reply({})
    answer.delay = 0.5
    assert exchange(answer, stall=0.2) == [b"{}"]


def test_signs_of_life_are_no_reply():
    error = fails(stream(*[": still here\n\n"] * 3, fault="stall"), stall=0.2)
    assert "silent for 0.2 s" in str(error)
    endless = Answer(pieces=repeat(b": still here\n\n", 20_000), headers={"content-type": "text/event-stream"})
    error = fails(endless, progress=0.01)
    assert isinstance(error, TransientModelError)
    assert "nothing of a reply for 0.01 s" in str(error)


def test_a_streamed_reply_has_to_begin():
    async def main() -> None:
        async with Loopback([Answer(fault="stall", before_headers=True)]) as server:
            with pytest.raises(TransientModelError, match=r"did not begin within 0\.2 s"):
                async with Exchange(endpoint(server.url, first=0.2), b"{}", streaming=True):
                    pass

    asyncio.run(main())


def test_no_server_listens():
    async def main() -> None:
        async with Loopback([]) as server:
            url = server.url
        with pytest.raises(TransientModelError, match="is the server running"):
            await send(url)

    asyncio.run(main())


def test_not_http():
    async def main() -> None:
        async def babble(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"220 smtp ready\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(babble, "127.0.0.1", 0)
        async with server:
            with pytest.raises(ModelError) as caught:
                await send(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        assert isinstance(caught.value, (BadReplyError, TransientModelError))

    asyncio.run(main())


def test_a_redirect_is_not_followed():
    async def main() -> None:
        async with (
            Loopback([reply({})]) as elsewhere,
            Loopback([Answer(307, headers={"location": elsewhere.url})]) as server,
        ):
            with pytest.raises(RequestRefusedError, match="redirects to"):
                await send(server.url)
            assert not elsewhere.received

    asyncio.run(main())


def test_an_endless_body_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http, "MAX_BODY", 1000)
    assert type(fails(Answer(pieces=[b"{" * 600] * 5))) is BadReplyError
    assert type(fails(stream(*["data: " + "x" * 300 + "\n\n"] * 5))) is BadReplyError


def test_a_large_body_is_sent_whole():
    async def main() -> None:
        async with Loopback([reply({})]) as server:
            body = b"x" * 3_000_000
            assert await send(server.url, body) == [b"{}"]
            assert server.received[0].body == body

    asyncio.run(main())


def test_connections_are_used_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http, "END_SECONDS", 30.0)

    async def main() -> None:
        async with Loopback([reply({}), stream("data: 1\n\n"), stream("data: [DONE]\n\n")]) as server:
            for _ in range(5):
                await send(server.url)
            # A reader that stops at the last event it needs leaves the connection usable too.
            async with Exchange(endpoint(server.url), b"{}") as answer:
                await answer.batch()
            await send(server.url)
            assert server.connections == 1

    asyncio.run(main())


def test_a_cancelled_exchange_closes_its_connection():
    async def main() -> None:
        async with Loopback([stream("data: 1\n\n", fault="stall"), reply({})]) as server:
            begun = asyncio.Event()

            async def read() -> None:
                async with Exchange(endpoint(server.url), b"{}") as response:
                    await response.batch()
                    begun.set()
                    await response.batch()

            task = asyncio.create_task(read())
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await send(server.url)
            assert server.connections == 2

    asyncio.run(main())


def test_each_loop_has_its_session_and_closes_it():
    seen: list[object] = []

    async def main() -> None:
        async with Loopback([reply({})]) as server:
            await send(server.url)
            await send(server.url)
            first = await http.session()
            assert await http.session() is first
            seen.append(first)

    asyncio.run(main())
    asyncio.run(main())
    assert seen[0] is not seen[1]
    assert all(session.closed for session in seen)  # type: ignore[attr-defined]
    seen.clear()
    gc.collect()


def test_a_closed_session_is_opened_again():
    async def main() -> None:
        async with Loopback([reply({})]) as server:
            await send(server.url)
            before = await http.session()
            await http.aclose()
            assert before.closed
            await http.aclose()
            assert await send(server.url) == [b"{}"]

    asyncio.run(main())


def test_the_session_of_a_closed_loop_is_closed():
    async def use() -> None:
        await http.session()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(use())
    loop.close()
    assert loop in http._sessions
    asyncio.run(use())
    assert loop not in http._sessions
