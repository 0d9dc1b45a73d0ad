"""Amazon's event streams: each frame as one JSON document, and frames that cannot be read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kit import row
from models.frames import event_frame, exception_frame, frame, with_checksums
from models.loopback import split
from treadle._models.transport.aws_frames import FrameParser
from treadle._types.errors import BadReplyError

STREAM = [
    event_frame("messageStart", {"role": "assistant"}),
    event_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Grüße 😀"}}),
    exception_frame("throttlingException", "slow"),
]


def documents(data: bytes, size: int) -> list[Any]:
    parser = FrameParser()
    found = [json.loads(payload) for piece in split(data, size) for payload in parser.feed(piece)]
    assert parser.close() == []
    return found


def test_cut_anywhere():
    for size in [1, 2, 7, 13, 10_000]:
        with row(size):
            assert documents(b"".join(STREAM), size) == [
                {"messageStart": {"role": "assistant"}},
                {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Grüße 😀"}}},
                {"error": {"type": "throttlingException", "message": "slow"}},
            ]


def test_headers_that_cannot_be_read():
    for headers in [b"\x05ab", b"\x01a\x63", b"\x01", b"\x01\xff\x07\x00\x01!"]:
        with row(headers), pytest.raises(BadReplyError):
            FrameParser().feed(with_checksums(headers, b"{}"))


def test_a_changed_byte_is_noticed():
    for place in [0, 5, 9, 20, -10, -1]:
        with row(place):
            data = bytearray(STREAM[1])
            data[place] ^= 0x41
            with pytest.raises(BadReplyError):
                FrameParser().feed(bytes(data) + STREAM[0])


def test_a_frame_that_is_too_large_is_refused_at_its_first_bytes():
    with pytest.raises(BadReplyError):
        FrameParser().feed(with_checksums(b"", bytes(25 * 1024 * 1024))[:12])


def test_an_error_message():
    written = frame(b"", message_type="error", error_code="InternalFailure", error_message="Oops.")
    assert documents(written, 5) == [{"error": {"type": "InternalFailure", "message": "Oops."}}]


def test_an_exception_whose_payload_is_no_object():
    written = frame(b"broken", message_type="exception", exception_type="modelStreamErrorException")
    assert documents(written, 5) == [{"error": {"type": "modelStreamErrorException", "message": "broken"}}]


def test_an_event_without_a_payload():
    assert documents(event_frame("ping", b""), 5) == [{"ping": {}}]
