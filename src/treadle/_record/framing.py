"""Where HTTP/1.1 messages begin and end in a stream of bytes. Nothing is decoded for passing on: bytes stay bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec import Struct

MAX_HEAD = 64 * 1024
"""Bytes of a request line or status line with its headers."""
PIECE = 64 * 1024
"""Bytes that are read at once, at most."""
_MAX_LINE = 8 * 1024
"""Of a line inside a chunked body: the size of a chunk, a trailer."""


class FramingError(Exception):
    """The bytes are no HTTP message that can be passed on without guessing where it ends."""


class Head(Struct, frozen=True):
    """The first line and the headers of a message, as they were sent."""

    first: bytes
    lines: tuple[bytes, ...]

    def values(self, name: bytes) -> list[str]:
        """Every value of a header, by its name in lower case."""
        values: list[str] = []
        for line in self.lines:
            key, _, value = line.partition(b":")
            if key.lower() == name:
                values.append(value.strip().decode("latin-1"))
        return values

    def value(self, name: bytes) -> str:
        return ", ".join(self.values(name))

    def tokens(self, name: bytes) -> list[str]:
        """The words of a header that is a list, in lower case."""
        return [token.strip().lower() for token in self.value(name).split(",") if token.strip()]

    def headers(self) -> dict[str, str]:
        """By name in lower case; a header that is repeated has its values joined."""
        values: dict[str, list[str]] = {}
        for line in self.lines:
            name, _, value = line.partition(b":")
            values.setdefault(name.lower().decode("latin-1"), []).append(value.strip().decode("latin-1"))
        return {name: ", ".join(several) for name, several in values.items()}

    def encode(self) -> bytes:
        return b"\r\n".join((self.first, *self.lines, b"", b""))

    @property
    def closes(self) -> bool:
        """True when the connection ends with this message."""
        tokens = self.tokens(b"connection")
        version = self.first[:8] if self.first.startswith(b"HTTP/") else self.first[-8:]
        return "close" in tokens or (version == b"HTTP/1.0" and "keep-alive" not in tokens)


async def read_head(reader: asyncio.StreamReader) -> tuple[Head, bytes] | None:
    """The next head and its bytes as they came; None when the connection ends before it."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if not error.partial.strip():
            return None
        raise FramingError("the connection ended in the middle of the headers") from None
    except asyncio.LimitOverrunError:
        raise FramingError(f"the headers are larger than {MAX_HEAD} bytes") from None
    first, *lines = raw.lstrip(b"\r\n")[:-4].split(b"\r\n")
    if any(line[:1] in (b" ", b"\t") or b":" not in line or b"\n" in line for line in lines) or b"\n" in first:
        raise FramingError("a header is malformed")
    return Head(first, tuple(lines)), raw


class Body:
    """Follows a body while it passes: how many of the bytes belong to it, and what its content is.

    `keep` gets the content, without the frame of a chunked body.
    """

    def __init__(self, keep: Callable[[bytes], None], *, length: int | None = 0, chunked: bool = False) -> None:
        """Without `length` and `chunked` the body ends with the connection."""
        self._keep = keep
        self._left = length
        self._chunked = chunked
        self._line = b""
        self._state = "size"
        self.done = length == 0 and not chunked

    @property
    def wanted(self) -> int:
        """How much to read at most, so that as little as possible of what follows is read with it."""
        return min(PIECE, self._left) if self._left is not None and not self._chunked else PIECE

    @property
    def until_close(self) -> bool:
        return self._left is None and not self._chunked

    def feed(self, data: bytes) -> int:
        """How many bytes of `data` belong to this body."""
        if self.done:
            return 0
        if self._chunked:
            return self._feed_chunked(data)
        if self._left is None:
            self._keep(data)
            return len(data)
        piece = data[: self._left]
        self._keep(piece)
        self._left -= len(piece)
        self.done = self._left == 0
        return len(piece)

    def _feed_chunked(self, data: bytes) -> int:
        at = 0
        while at < len(data) and not self.done:
            if self._state == "data":
                assert self._left is not None
                piece = data[at : at + self._left]
                self._keep(piece)
                at += len(piece)
                self._left -= len(piece)
                if self._left == 0:
                    self._state = "after"
                continue
            end = data.find(b"\n", at)
            stop = len(data) if end < 0 else end + 1
            self._line += data[at:stop]
            at = stop
            if len(self._line) > _MAX_LINE:
                raise FramingError("a line of a chunked body is too long")
            if end >= 0:
                line, self._line = self._line.rstrip(b"\r\n"), b""
                self._on_line(line)
        return at

    def _on_line(self, line: bytes) -> None:
        if self._state == "size":
            digits = line.partition(b";")[0].strip()
            if not digits or len(digits) > 15 or digits.strip(b"0123456789abcdefABCDEF"):
                raise FramingError("the size of a chunk is not a number")
            self._left = int(digits, 16)
            self._state = "data" if self._left else "trailer"
        elif self._state == "after":
            if line:
                raise FramingError("a chunk is longer than it says")
            self._state = "size"
        elif not line:  # the trailers end with an empty line
            self.done = True


def request_body(head: Head, keep: Callable[[bytes], None]) -> Body:
    """How the body of a request ends. What two readers could understand differently is refused."""
    coding, lengths = head.tokens(b"transfer-encoding"), set(head.values(b"content-length"))
    if coding:
        if coding != ["chunked"] or lengths:
            raise FramingError("the length of the request is not clear from its headers")
        return Body(keep, length=None, chunked=True)
    return Body(keep, length=_length(lengths) or 0)


def response_body(head: Head, method: bytes, keep: Callable[[bytes], None]) -> Body:
    status = status_of(head)
    if method == b"HEAD" or status in (204, 304) or 100 <= status < 200:
        return Body(keep)
    coding = head.tokens(b"transfer-encoding")
    if coding:
        return Body(keep, length=None, chunked=coding[-1] == "chunked")
    return Body(keep, length=_length(set(head.values(b"content-length"))))


def status_of(head: Head) -> int:
    parts = head.first.split(b" ", 2)
    if len(parts) < 2 or not parts[0].startswith(b"HTTP/1.") or not parts[1].isdigit():
        raise FramingError("the server's answer is not HTTP/1.1")
    return int(parts[1])


def _length(lengths: set[str]) -> int | None:
    if not lengths:
        return None
    text = lengths.pop()
    if lengths or not (text.isascii() and text.isdigit()):
        raise FramingError("content-length is not one number")
    return int(text)
