"""Responses that are compressed, endless, slow, oddly encoded."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib

import pytest
from aiohttp import web

from tools.builtin.loopback import serving
from treadle._tools.builtin.http.client import GuardedClient, HttpResponse
from treadle._types.errors import ToolError


def gzipped(data: bytes) -> web.Response:
    return web.Response(body=data, headers={"Content-Encoding": "gzip", "Content-Type": "text/plain"})


def fetch(page: object, **options: object) -> HttpResponse:
    async def main() -> HttpResponse:
        async with serving({"/": page}) as site:
            return await GuardedClient(allow_private=True, **options).get(site.url)  # pyright: ignore[reportArgumentType]

    return asyncio.run(main())


@pytest.mark.parametrize("wbits", [31, 15, -15], ids=["gzip", "zlib", "raw deflate"])
def test_compressed_answers(wbits: int):
    text = b"read me " * 1000
    packer = zlib.compressobj(wbits=wbits)
    encoding = "gzip" if wbits == 31 else "deflate"
    body = packer.compress(text) + packer.flush()
    assert fetch(lambda _: web.Response(body=body, headers={"Content-Encoding": encoding})).body == text


def test_gzip_in_several_members():
    assert fetch(lambda _: gzipped(gzip.compress(b"one ") + gzip.compress(b"two") + b"\0\0\0")).body == b"one two"


def test_a_zip_bomb_never_unfolds():
    bomb = gzip.compress(bytes(100_000_000))
    assert len(bomb) < 400_000
    tracemalloc.start()
    with pytest.raises(ToolError, match="larger than 1000000 bytes"):
        fetch(lambda _: gzipped(bomb), max_bytes=1_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "zstd", "compress", "x" * 1000])
def test_encodings_that_were_not_asked_for(encoding: str):
    with pytest.raises(ToolError, match="not requested"):
        fetch(lambda _: web.Response(body=b"x", headers={"Content-Encoding": encoding}))


def test_broken_compression():
    with pytest.raises(ToolError, match="cannot be decompressed"):
        fetch(lambda _: gzipped(b"\x1f\x8b\x08" + b"\xff" * 50))


async def _endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    try:
        while True:
            await response.write(b"x" * 65_536)
            await asyncio.sleep(0)  # the client lives in the same loop
    except ConnectionError:
        pass
    return response


async def _drip(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    try:
        while True:
            await response.write(b"x")
            await asyncio.sleep(0.05)
    except ConnectionError:
        pass
    return response


def test_an_endless_answer_ends():
    with pytest.raises(ToolError, match="larger than 100000 bytes"):
        fetch(_endless, max_bytes=100_000)


def test_a_slow_answer_ends():
    with pytest.raises(ToolError, match=r"did not send a complete response within 0\.3 s"):
        fetch(_drip, timeout=0.3)


def test_json_that_is_not_what_was_promised():
    answer = HttpResponse(url="u", status=200, headers={}, body=b"[" * 100_000)
    with pytest.raises(ToolError, match="does not have the expected form"):
        answer.json(dict)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000,
        b"\0" * 1000,
    ],
    ids=["cut short", "another protocol", "nothing", "endless headers", "zeros"],
)
async def test_answers_that_are_not_http(answer: bytes):
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        with pytest.raises(ToolError, match=r"could not reach 127\.0\.0\.1"):
            await GuardedClient(allow_private=True, timeout=60).get(f"http://127.0.0.1:{port}/")
