"""Where messages end, however they are cut."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle._record.framing import Body, FramingError, Head, read_head, request_body, response_body, status_of

CHUNKED = b"5;name=value\r\nhello\r\n1\r\n \r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"


@given(st.lists(st.integers(0, len(CHUNKED)), max_size=8))
def test_a_chunked_body_at_any_cut(cuts: list[int]):
    kept: list[bytes] = []
    body = Body(kept.append, length=None, chunked=True)
    used = 0
    edges = [0, *sorted(cuts), len(CHUNKED)]
    for start, end in itertools.pairwise(edges):
        used += body.feed(CHUNKED[start:end])
    assert body.done
    assert used == len(CHUNKED)
    assert b"".join(kept) == b"hello 0123456789"
    assert body.feed(b"GET /next") == 0


@pytest.mark.parametrize(
    "broken", [b"x\r\n", b"-1\r\n", b"\r\n", b"1\r\nab\r\n", b"1" * 9000, b"ffffffffffffffffffff\r\n"]
)
def test_a_broken_chunked_body_is_not_guessed_at(broken: bytes):
    with pytest.raises(FramingError):
        Body(lambda _: None, length=None, chunked=True).feed(broken)


def head(*lines: str, first: str = "POST / HTTP/1.1") -> Head:
    return Head(first.encode(), tuple(line.encode() for line in lines))


@pytest.mark.parametrize(
    "lines",
    [
        ["Content-Length: 3", "Content-Length: 4"],
        ["Content-Length: +3"],
        ["Content-Length: 3", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: gzip, chunked"],
        ["Transfer-Encoding: identity"],
    ],
)
def test_a_request_whose_end_is_not_clear_is_refused(lines: list[str]):
    with pytest.raises(FramingError):
        request_body(head(*lines), lambda _: None)


def test_the_length_of_a_response():
    def body(method: bytes, status: int, *lines: str) -> Body:
        return response_body(head(*lines, first=f"HTTP/1.1 {status} X"), method, lambda _: None)

    assert body(b"HEAD", 200, "Content-Length: 9").done
    assert body(b"POST", 204).done
    assert body(b"POST", 200, "Content-Length: 0").done
    assert body(b"POST", 200).until_close
    assert not body(b"POST", 200, "Transfer-Encoding: chunked").until_close
    counted = body(b"POST", 200, "Content-Length: 3")
    assert (counted.wanted, counted.feed(b"abcd"), counted.done) == (3, 3, True)
    with pytest.raises(FramingError):
        status_of(head(first="ICY 200 OK"))


@pytest.mark.parametrize(
    ("first", "line", "closes"),
    [
        ("GET / HTTP/1.1", "A: b", False),
        ("GET / HTTP/1.1", "Connection: Close", True),
        ("GET / HTTP/1.0", "A: b", True),
        ("HTTP/1.0 200 OK", "Connection: keep-alive", False),
        ("HTTP/1.1 200 OK", "A: b", False),
    ],
)
def test_whether_a_connection_goes_on(first: str, line: str, closes: bool):
    assert head(line, first=first).closes is closes


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", "malformed"),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", "malformed"),
        (b"GET / HTTP/1.1\r\nA: b", "in the middle"),
        (b"GET / HTTP/1.1\r\nA: " + b"b" * 70_000, "larger than"),
    ],
)
async def test_a_head_that_cannot_be_read(data: bytes, problem: str):
    reader = asyncio.StreamReader(limit=64 * 1024)
    reader.feed_data(data)
    reader.feed_eof()
    with pytest.raises(FramingError, match=problem):
        await read_head(reader)
