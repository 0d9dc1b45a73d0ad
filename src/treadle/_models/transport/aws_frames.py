"""A parser of Amazon's binary event streams: bytes in, payloads out.

A frame is: length of the frame and of its headers (4 bytes each), a checksum of these, the headers, the payload, and a
checksum of everything before it. A header is the length of its name, the name, a type, and a value.
"""

from __future__ import annotations

import struct
from typing import Any
from zlib import crc32

from msgspec import MsgspecError
from msgspec.json import decode, encode

from treadle._types.errors import BadReplyError

MAX_FRAME = 32 * 1024 * 1024
_PRELUDE = struct.Struct(">III")
_CHECKSUM = struct.Struct(">I")
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Types of header values with a fixed size: true, false, the integers, a time stamp, a UUID."""
_BYTES, _TEXT = 6, 7


class FrameParser:
    """Splits a byte stream into the payloads of its frames, each as one JSON document: `{"EVENT": payload}`, and
    `{"error": {"type": ..., "message": ...}}` for an exception."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """The payloads that `chunk` completes."""
        pending = self._pending
        pending += chunk
        payloads: list[bytes] = []
        start = 0
        while (size := _frame_size(pending, start)) and len(pending) - start >= size:
            payload = _document(bytes(pending[start : start + size]))
            start += size
            if payload:
                payloads.append(payload)
        del pending[:start]
        return payloads

    def close(self) -> list[bytes]:
        """Nothing: what is left of a frame is no frame, and the reader sees that the reply is not complete."""
        self._pending.clear()
        return []


def _frame_size(data: bytearray, start: int) -> int:
    """The size of the frame at `start`; 0 while it is not known yet."""
    if len(data) - start < _PRELUDE.size:
        return 0
    size, headers, checksum = _PRELUDE.unpack_from(data, start)
    if crc32(data[start : start + 8]) != checksum or not headers + 16 <= size <= MAX_FRAME:
        raise BadReplyError("the event stream has a frame with a wrong checksum or size")
    return size


def _document(frame: bytes) -> bytes:
    if crc32(frame[:-4]) != _CHECKSUM.unpack_from(frame, len(frame) - 4)[0]:
        raise BadReplyError("the event stream has a frame with a wrong checksum")
    end = 12 + int.from_bytes(frame[4:8], "big")
    headers, payload = frame_headers(frame[12:end]), frame[end:-4].strip()
    match headers.get(":message-type"):
        case "exception":
            return _error(headers.get(":exception-type", ""), payload)
        case "error":
            return _error(headers.get(":error-code", ""), headers.get(":error-message", "").encode())
        case _:
            return b"{%b:%b}" % (encode(headers.get(":event-type", "")), payload or b"{}")


def _error(kind: str, payload: bytes) -> bytes:
    try:
        fields = decode(payload, type=dict[str, Any])
    except (MsgspecError, UnicodeDecodeError, RecursionError):
        fields = {"message": payload.decode("utf-8", "replace")}
    return encode({"error": fields | {"type": kind}})


def frame_headers(data: bytes) -> dict[str, str]:
    """The headers with a text; others are skipped."""
    headers: dict[str, str] = {}
    position = 0
    try:
        while position < len(data):
            length = data[position]
            name = data[position + 1 : position + 1 + length].decode("utf-8", "replace")
            kind = data[position + 1 + length]
            position += 2 + length
            if kind in (_BYTES, _TEXT):
                size = int.from_bytes(data[position : position + 2], "big")
                if kind == _TEXT:
                    headers[name] = data[position + 2 : position + 2 + size].decode("utf-8", "replace")
                position += 2 + size
            else:
                position += _SIZES[kind]
    except (IndexError, KeyError):
        raise BadReplyError("the event stream has a frame whose headers cannot be read") from None
    return headers
