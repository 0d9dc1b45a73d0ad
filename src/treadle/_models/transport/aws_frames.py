"""Reads Amazon's binary event streams with botocore's parser (extra `bedrock`): bytes in, JSON documents out."""

from __future__ import annotations

import struct
from importlib import import_module
from typing import Any

from treadle._models.transport.wire import encode, read_as
from treadle._types.errors import BadReplyError, MissingExtraError


class FrameParser:
    """Splits a byte stream into the payloads of its frames, each as one JSON document: `{"EVENT": payload}`, and
    `{"error": {"type": ..., "message": ...}}` for an exception."""

    def __init__(self) -> None:
        try:
            eventstream: Any = import_module("botocore.eventstream")
        except ImportError:
            raise MissingExtraError("the event stream of Amazon Bedrock", "bedrock") from None
        self._buffer = eventstream.EventStreamBuffer()
        self._unreadable = (eventstream.ParserError, struct.error, KeyError, UnicodeDecodeError)

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the payloads that `chunk` completes."""
        self._buffer.add_data(chunk)
        try:
            return [_document(message.headers, message.payload.strip()) for message in self._buffer]
        except self._unreadable as error:
            raise BadReplyError(f"the event stream has a frame that cannot be read: {error}") from None

    def close(self) -> list[bytes]:
        """Return nothing: the rest of a frame is not a frame, and the reader sees that the reply is not complete."""
        return []


def _document(headers: dict[str, Any], payload: bytes) -> bytes:
    match headers.get(":message-type"):
        case "exception":
            return _error(str(headers.get(":exception-type", "")), payload)
        case "error":
            return _error(str(headers.get(":error-code", "")), str(headers.get(":error-message", "")).encode())
        case _:
            return b"{%b:%b}" % (encode(str(headers.get(":event-type", ""))), payload or b"{}")


def _error(kind: str, payload: bytes) -> bytes:
    fields = read_as(dict[str, Any], payload)
    if fields is None:
        fields = {"message": payload.decode("utf-8", "replace")}
    return encode({"error": fields | {"type": kind}})
