"""Amazon's event streams, compared with Amazon's own parser."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given, settings
from hypothesis import strategies as st

from models.frames import event_frame, exception_frame, frame
from models.loopback import split
from treadle._models.transport import aws_frames
from treadle._models.transport.aws_frames import FrameParser, frame_headers
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


def botocores(data: bytes) -> list[tuple[dict[str, Any], bytes]]:
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    return [(event.headers, event.payload) for event in buffer]


@pytest.mark.parametrize("size", [1, 2, 7, 13, 10_000])
def test_cut_anywhere(size: int):
    assert documents(b"".join(STREAM), size) == [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Grüße 😀"}}},
        {"error": {"type": "throttlingException", "message": "slow"}},
    ]


def test_the_frames_of_these_tests_are_frames_to_botocore():
    read = botocores(b"".join(STREAM))
    assert [headers[":message-type"] for headers, _ in read] == ["event", "event", "exception"]
    assert json.loads(read[1][1])["delta"] == {"text": "Grüße 😀"}


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.from_regex(r"[a-zA-Z]{1,20}", fullmatch=True),
            st.dictionaries(st.text(max_size=5), st.text(max_size=20) | st.integers(), max_size=3),
        ),
        max_size=4,
    ),
    st.integers(1, 50),
)
def test_the_same_as_botocore_reads(events: list[tuple[str, dict[str, Any]]], size: int):
    data = b"".join(event_frame(kind, value) for kind, value in events)
    theirs = [{headers[":event-type"]: json.loads(payload)} for headers, payload in botocores(data)]
    assert documents(data, size) == theirs


def test_headers_of_every_type():
    wanted = {
        b"\x01a\x00": {},
        b"\x01a\x01": {},
        b"\x01a\x02\x07": {},
        b"\x01a\x03\x00\x07": {},
        b"\x01a\x04\x00\x00\x00\x07": {},
        b"\x01a\x05" + bytes(8): {},
        b"\x01a\x06\x00\x02xy": {},
        b"\x01a\x07\x00\x02xy": {"a": "xy"},
        b"\x01a\x08" + bytes(8): {},
        b"\x01a\x09" + bytes(16): {},
    }
    for written, headers in wanted.items():
        assert frame_headers(written + b"\x01z\x07\x00\x01!") == {**headers, "z": "!"}


@pytest.mark.parametrize("headers", [b"\x05ab", b"\x01a\x63", b"\x01"])
def test_headers_that_cannot_be_read(headers: bytes):
    with pytest.raises(BadReplyError):
        frame_headers(headers)


@pytest.mark.parametrize("place", [0, 5, 9, 20, -10, -1])
def test_a_changed_byte_is_noticed(place: int):
    data = bytearray(STREAM[1])
    data[place] ^= 0x41
    with pytest.raises(BadReplyError):
        FrameParser().feed(bytes(data) + STREAM[0])


def test_a_frame_that_is_too_large_is_refused_at_its_first_bytes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(aws_frames, "MAX_FRAME", 100)
    with pytest.raises(BadReplyError):
        FrameParser().feed(event_frame("contentBlockDelta", {"text": "x" * 200})[:12])


def test_an_error_message():
    written = frame(b"", message_type="error", error_code="InternalFailure", error_message="Oops.")
    assert documents(written, 5) == [{"error": {"type": "InternalFailure", "message": "Oops."}}]


def test_an_exception_whose_payload_is_no_object():
    written = frame(b"broken", message_type="exception", exception_type="modelStreamErrorException")
    assert documents(written, 5) == [{"error": {"type": "modelStreamErrorException", "message": "broken"}}]


def test_an_event_without_a_payload():
    assert documents(event_frame("ping", b""), 5) == [{"ping": {}}]
