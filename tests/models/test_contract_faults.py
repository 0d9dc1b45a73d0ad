"""The contract of the model port, second part: what an adapter makes of every fault."""

from __future__ import annotations

from typing import Any

import pytest

from models.asking import CALLS, HELLO, THOUGHT, fails
from models.contract import KEY, WIRES, Sample, Wire
from models.loopback import Answer
from treadle._models.transport.http import Timeouts
from treadle._types.errors import (
    BadReplyError,
    ContextOverflowError,
    RequestRefusedError,
    TransientModelError,
)

pytestmark = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_transient_statuses(wire: Wire, status: int, streaming: bool):
    error = fails(wire, wire.error(status, "busy"), streaming=streaming)
    assert isinstance(error, TransientModelError)
    assert error.status == status
    assert error.retry_after is None


def test_retry_after(wire: Wire):
    error = fails(wire, wire.error(429, "busy", **{"retry-after": "3"}), streaming=True)
    assert isinstance(error, TransientModelError)
    assert error.retry_after == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_refusals(wire: Wire, status: int):
    error = fails(wire, wire.error(status, f"key {KEY} is wrong"), streaming=False)
    assert type(error) is RequestRefusedError
    assert "is wrong" in str(error)


@pytest.mark.parametrize("streaming", [False, True])
def test_overflow(wire: Wire, streaming: bool):
    assert isinstance(fails(wire, wire.error(400, wire.overflow), streaming=streaming), ContextOverflowError)


def test_an_error_inside_a_stream(wire: Wire):
    answer = wire.send(*wire.encoded(HELLO)[:3], wire.encoded_error(f"overloaded {KEY}"))
    assert isinstance(fails(wire, answer, streaming=True), TransientModelError)


@pytest.mark.parametrize("fault", ["reset", "close"])
@pytest.mark.parametrize("streaming", [False, True])
def test_a_connection_lost_before_the_answer(wire: Wire, streaming: bool, fault: str):
    assert isinstance(fails(wire, Answer(fault=fault, before_headers=True), streaming=streaming), TransientModelError)


@pytest.mark.parametrize("changes", [{"fault": "reset"}, {"fault": "close"}, {"no_framing": True}, {}])
@pytest.mark.parametrize("sample", [HELLO, CALLS, THOUGHT])
def test_a_stream_that_breaks_off(wire: Wire, sample: Sample, changes: dict[str, Any]):
    answer = wire.send(*wire.encoded(sample)[:-1], **changes)
    assert isinstance(fails(wire, answer, streaming=True), TransientModelError)


def test_a_stream_cut_inside_an_event(wire: Wire):
    data = b"".join(wire.encoded(HELLO)[:3])
    assert isinstance(fails(wire, wire.send(data[:-20], no_framing=True), streaming=True), TransientModelError)


def test_a_stall(wire: Wire):
    answer = wire.send(*wire.encoded(HELLO)[:2], fault="stall")
    assert isinstance(fails(wire, answer, streaming=True, timeout=Timeouts(stall=0.2)), TransientModelError)


def test_a_time_out(wire: Wire):
    answer = Answer(fault="stall", before_headers=True)
    assert isinstance(fails(wire, answer, streaming=False, timeout=0.2), TransientModelError)


@pytest.mark.parametrize("cut", [5, 60])
def test_a_truncated_body(wire: Wire, cut: int):
    body = b"".join(wire.whole(HELLO).pieces)
    assert isinstance(
        fails(wire, Answer(pieces=[body[:-cut]], length=True, fault="close"), streaming=False), TransientModelError
    )
    assert isinstance(fails(wire, Answer(pieces=[body[:-cut]], no_framing=True), streaming=False), TransientModelError)


@pytest.mark.parametrize("streaming", [False, True])
def test_a_page_instead_of_an_answer(wire: Wire, streaming: bool):
    answer = Answer(pieces=[b"<html><body>Please log in</body></html>"], headers={"content-type": "text/html"})
    assert type(fails(wire, answer, streaming=streaming)) is BadReplyError


@pytest.mark.parametrize(
    "body",
    [b"{}", b"[]", b'"text"', b"17", b'{"a":', b"not json", b"\xff\xfe", b"{" * 200, b'{"choices":7}', b'{"id":"x"}'],
)
@pytest.mark.parametrize("streaming", [False, True])
def test_nonsense_is_a_typed_error(wire: Wire, body: bytes, streaming: bool):
    answer = wire.send(wire.framed(body)) if streaming else Answer(pieces=[body])
    error = fails(wire, answer, streaming=streaming)
    assert isinstance(error, (BadReplyError, TransientModelError))
