"""The proxy passes everything on, and nothing elsewhere. Bytes are compared, not what a library makes of them."""

from __future__ import annotations

import asyncio
import gzip
import socket
from contextlib import suppress

import pytest

from kit import until
from record.wire import ask, between, listening, post, request_at
from treadle._record.exchange import HttpExchange, Memory
from treadle._record.proxy import Proxy
from treadle._record.upstreams import Routes, upstream_at

STREAM = (
    b"HTTP/1.1 200 Fine\r\nX-Odd-CASE:  two  spaces\r\nx-same: 1\r\nx-same: 2\r\nContent-Type: text/event-stream\r\n"
    b"Transfer-Encoding: chunked\r\nconnection: close\r\n\r\n"
    b"9\r\ndata: a\n\n\r\n0009;x=y\r\ndata: b\n\n\r\n0\r\nTrailer-One: t\r\n\r\n"
)
PACKED = gzip.compress(b'{"choices": []}')
ZIPPED = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\nconnection: close\r\n\r\n" % len(PACKED)
LIMITED = (
    b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\nx-ratelimit-remaining: 0\r\ncontent-length: 4\r\n"
    b"connection: close\r\n\r\nslow"
)
OLD = b"HTTP/1.0 200 OK\r\n\r\nuntil the connection ends"


@pytest.mark.parametrize("answer", [STREAM, ZIPPED + PACKED, LIMITED, OLD], ids=["stream", "gzip", "429", "1.0"])
async def test_a_response_passes_byte_for_byte(answer: bytes):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_at(reader)
        for index in range(0, len(answer), 7):
            writer.write(answer[index : index + 7])
            await writer.drain()

    async with between(talk) as setting:
        request = post("/v1/chat/completions", b"{}")
        assert await ask(setting.port, request) == answer == await ask(setting.server_port, request)
        await until(lambda: setting.exchanges)
        assert setting.exchanges[0].ending == "complete"


async def test_a_request_passes_with_its_target_and_host_alone_changed():
    seen: list[tuple[bytes, bytes]] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await request_at(reader))
        writer.write(LIMITED)

    async with between(talk, path="/v1") as setting:
        body = bytes(range(256))
        lines = ["authorization: Bearer sk-1234567890", "X-Odd-CASE:  two  spaces", "accept-encoding: br, zstd"]
        await ask(setting.port, post("/chat/completions?beta=1", body, *lines))
        await ask(setting.port, post("/v1/chat/completions", body))
        await until(lambda: len(setting.exchanges) == 2)
        host = f"Host: 127.0.0.1:{setting.server_port}"
        direct = post("/v1/chat/completions?beta=1", body, *lines).replace(b"Host: 127.0.0.1:1", host.encode())
        assert b"".join(seen[0]) == direct
        assert seen[1][0].startswith(b"POST /v1/chat/completions HTTP/1.1\r\n")
        kept = setting.exchanges[0]
        assert (kept.path, b"".join(kept.sent)) == ("/v1/chat/completions", body)
        assert kept.secrets == ("sk-1234567890",)
        assert "sk-1234567890" not in repr({key: kept.__dict__[key] for key in kept.__dict__ if key != "secrets"})


async def test_a_stream_passes_as_it_comes():
    heard = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_at(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n")
        await heard.wait()  # the client has the first piece before there is a second
        writer.write(b"3\r\ntwo\r\n0\r\n\r\n")
        await reader.read()

    async with between(talk) as setting:
        reader, writer = await asyncio.open_connection("127.0.0.1", setting.port)
        writer.write(post("/v1/chat/completions", b"{}"))
        await reader.readuntil(b"one\r\n")
        heard.set()
        assert await reader.readuntil(b"0\r\n\r\n") == b"3\r\ntwo\r\n0\r\n\r\n"
        writer.close()


async def test_connections_are_used_again_as_without_the_proxy():
    connections = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        for number in range(3):
            _, body = await request_at(reader)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body) + 1, body + b"%d" % number))

    async with between(talk) as setting:
        reader, writer = await asyncio.open_connection("127.0.0.1", setting.port)
        for number in range(3):
            writer.write(post("/", b"body"))
            assert (await request_at(reader))[1] == b"body%d" % number
        assert await reader.read() == b""  # the server has closed its idle connection: so is this one
        assert connections == 1
        writer.close()


async def test_a_client_that_leaves_is_noticed_by_the_server():
    left = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_at(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n")
        with suppress(ConnectionResetError):
            await reader.read()  # the connection of the proxy ends
        left.set()

    async with between(talk) as setting:
        reader, writer = await asyncio.open_connection("127.0.0.1", setting.port)
        writer.write(post("/", b"{}"))
        await reader.readuntil(b"one\r\n")
        writer.close()
        await left.wait()
        await until(lambda: setting.exchanges)
        assert (setting.exchanges[0].ending, setting.exchanges[0].received) == ("cancelled", [b"one"])
        await until(lambda: not setting.proxy.connections)


async def test_an_answer_that_is_cut_off_is_cut_off_for_the_client():
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_at(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")

    async with between(talk) as setting:
        reader, writer = await asyncio.open_connection("127.0.0.1", setting.port)
        writer.write(post("/", b"{}"))
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await reader.readexactly(1000)
        writer.close()
        await until(lambda: setting.exchanges)
        assert setting.exchanges[0].ending == "cut"


async def test_interim_answers_and_other_protocols_pass():
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"upgrade" in head:
            writer.write(b"HTTP/1.1 101 Switching\r\nupgrade: websocket\r\n\r\n")
            writer.write((await reader.readexactly(4)).upper())
            return
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + await reader.readexactly(4))

    async with between(talk) as setting:
        reader, writer = await asyncio.open_connection("127.0.0.1", setting.port)
        writer.write(post("/", b"", "expect: 100-continue").replace(b"Length: 0", b"Length: 4"))
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"body")  # only now
        assert (await reader.read()).endswith(b"\r\n\r\nbody")
        writer.close()
        assert (await ask(setting.port, post("/", b"", "upgrade: websocket") + b"ping")).endswith(b"\r\n\r\nPING")


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n", b"400"),
        (b"GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: attacker.example\r\n\r\n", b"403"),
        (b"GET /v1 HTTP/1.1\r\nHost: localhost:1\r\nOrigin: https://a.example\r\nSec-Fetch-Mode: cors\r\n\r\n", b"403"),
        (b"GET /v1 HTTP/1.1\r\nHost: localhost:1\r\nSec-Fetch-Site: cross-site\r\n\r\n", b"403"),
        (b"GET /%2e%2e/admin HTTP/1.1\r\nHost: localhost:1\r\n\r\n", b"404"),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", b"400"),
        (b"nonsense\r\n\r\n", b"400"),
    ],
)
async def test_it_is_no_open_proxy(request_bytes: bytes, status: bytes):
    reached: list[bool] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.append(bool(await reader.read(1)))

    async with between(talk) as setting:
        assert (await ask(setting.port, request_bytes)).startswith(b"HTTP/1.1 " + status)
        assert not any(reached)
        assert setting.proxy.address.startswith("http://127.0.0.1:")


async def test_only_named_servers_are_reached():
    proxy = Proxy(Routes({"openai": upstream_at("http://127.0.0.1:9/v1", "openai")}), HttpExchange.forget)
    await proxy.start()
    port = int(proxy.address.rpartition(":")[2])
    answer = await ask(port, post("/other/v1/x", b""))
    assert answer.startswith(b"HTTP/1.1 404")
    assert b"expected one of: /openai" in answer
    await proxy.close()


async def test_a_server_that_cannot_be_reached_is_named():
    exchanges: list[HttpExchange] = []
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
        proxy = Proxy(Routes({"": upstream_at(address)}), exchanges.append)
        await proxy.start()
        answer = await ask(int(proxy.address.rpartition(":")[2]), post("/", b"{}"))
        await proxy.close()
    assert answer.startswith(b"HTTP/1.1 502")
    assert address.encode() in answer
    assert exchanges[0].ending == "unreachable"


async def test_a_recorder_that_fails_is_no_concern_of_the_program():
    def fail(exchange: HttpExchange) -> None:
        raise RuntimeError("no disk")

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_at(reader)
        writer.write(STREAM)

    async with listening(talk) as port:
        proxy = Proxy(Routes({"": upstream_at(f"http://127.0.0.1:{port}")}), fail)
        await proxy.start()
        assert await ask(int(proxy.address.rpartition(":")[2]), post("/", b"{}")) == STREAM
        await proxy.close()
        assert proxy.memory.held == 0


async def test_200_streams_at_once_are_neither_lost_nor_mixed_nor_changed():
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, body = await request_at(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n")
        for number in range(20):
            piece = b"data: %b %d\n\n" % (body, number)
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")

    async with between(talk) as setting:
        requests = [post("/v1/chat/completions", b"stream %d" % number) for number in range(200)]
        through = await asyncio.gather(*(ask(setting.port, request) for request in requests))
        direct = await asyncio.gather(*(ask(setting.server_port, request) for request in requests))
        assert through == direct
        await until(lambda: len(setting.exchanges) == 200)
        assert {b"".join(one.sent): b"".join(one.received) for one in setting.exchanges} == {
            b"stream %d" % k: b"".join(b"data: stream %d %d\n\n" % (k, n) for n in range(20)) for k in range(200)
        }


async def test_a_slow_client_holds_the_server_back_and_no_memory():
    sent = 0
    piece = b"x" * 65_536

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await request_at(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")
        while sent < 64 * 2**20:
            writer.write(piece)
            await writer.drain()
            sent += len(piece)

    memory = Memory(2**20)
    async with between(talk, memory=memory) as setting:
        reader, writer = await asyncio.open_connection("127.0.0.1", setting.port, limit=2**16)
        writer.write(post("/", b"{}"))
        await reader.readuntil(b"\r\n\r\n")
        before = -1
        while before != sent:  # until the server is stuck: it is the client's turn
            before = sent
            for _ in range(200):
                await asyncio.sleep(0.001)
        assert sent < 40 * 2**20
        received = 0
        while data := await reader.read(2**20):
            received += len(data)
        assert received == 64 * 2**20
        writer.close()
        await until(lambda: setting.exchanges)
        assert memory.most <= 2**20
        assert memory.held == 0
        assert setting.exchanges[0].not_stored


async def test_a_request_that_is_sent_in_chunks_passes_in_chunks():
    seen: list[bytes] = []
    body = b"5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n"

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        seen.append(await reader.readexactly(len(body)))
        writer.write(LIMITED)

    async with between(talk) as setting:
        request = b"POST /v1 HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n" + body
        assert await ask(setting.port, request) == LIMITED
        await until(lambda: setting.exchanges)
        assert (seen, b"".join(setting.exchanges[0].sent)) == ([body], b"hello!")


async def test_slow_and_vanishing_clients_do_not_touch_the_others():
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, body = await request_at(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n")
        for number in range(10):
            writer.write(b"8\r\n%8d\r\n" % number)
            await writer.drain()
            if body == b"vanish":
                with suppress(ConnectionResetError):
                    await reader.read()  # nothing more until the connection ends
                return
        writer.write(b"0\r\n\r\n")

    async def client(port: int, manner: str) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(post("/v1", manner.encode()))
        got = await reader.readuntil(b"0\r\n")
        if manner == "vanish":
            writer.transport.abort()
            return b""
        while data := await reader.read(3 if manner == "slow" else 65_536):
            got += data
            await asyncio.sleep(0.001 if manner == "slow" else 0)
        writer.close()
        return got

    async with between(talk) as setting:
        manners = ["plain", "slow", "vanish"] * 20
        got = await asyncio.gather(*(client(setting.port, manner) for manner in manners))
        expected = await client(setting.server_port, "plain")
        assert {one for one, manner in zip(got, manners, strict=True) if manner != "vanish"} == {expected}
        await until(lambda: len(setting.exchanges) == len(manners) and not setting.proxy.connections)
        endings = sorted((b"".join(one.sent).decode(), one.ending) for one in setting.exchanges)
        assert endings == sorted((one, "cancelled" if one == "vanish" else "complete") for one in manners)
        for one in setting.exchanges:
            one.forget()
        assert setting.proxy.memory.held == 0
