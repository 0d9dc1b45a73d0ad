"""The contract of the model port, second part: what an adapter makes of every fault."""

from __future__ import annotations

from typing import Any

import pytest

from models.asking import CALLS, HELLO, THOUGHT, all_fail
from models.contract import KEY, WIRES, Wire
from models.loopback import Answer
from treadle._models.transport.http import Timeouts
from treadle._types.errors import (
    BadReplyError,
    ContextOverflowError,
    RequestRefusedError,
    TransientModelError,
)

pytestmark = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
BOTH_WAYS = pytest.mark.parametrize("streaming", [False, True])


@BOTH_WAYS
def test_statuses(wire: Wire, streaming: bool):
    transient, refused = (408, 409, 429, 500, 502, 503, 504, 529), (400, 401, 403, 404, 405, 422)
    for status, error in zip(
        transient,
        all_fail(wire, [wire.error(status, "busy") for status in transient], streaming=streaming),
        strict=True,
    ):
        assert isinstance(error, TransientModelError)
        assert (error.status, error.retry_after) == (status, None)
    wrong = [wire.error(status, f"key {KEY} is wrong") for status in refused]
    *others, overflow, slow = all_fail(
        wire,
        [*wrong, wire.error(400, wire.overflow), wire.error(429, "busy", **{"retry-after": "3"})],
        streaming=streaming,
    )
    for error in others:
        assert type(error) is RequestRefusedError
        assert "is wrong" in str(error)
    assert isinstance(overflow, ContextOverflowError)
    assert isinstance(slow, TransientModelError)
    assert slow.retry_after == 3


@BOTH_WAYS
def test_a_connection_lost_before_the_answer(wire: Wire, streaming: bool):
    answers = [*(Answer(fault=fault, before_headers=True) for fault in ("reset", "close")), Answer(pieces=[])]
    for error in all_fail(wire, answers, streaming=streaming):
        assert isinstance(error, TransientModelError)


def test_a_stream_that_breaks_off_or_has_an_error_in_it(wire: Wire):
    ends: list[dict[str, Any]] = [{"fault": "reset"}, {"fault": "close"}, {"no_framing": True}, {}]
    broken = [wire.send(*wire.encoded(sample)[:-1], **end) for sample in (HELLO, CALLS, THOUGHT) for end in ends]
    inside_an_event = wire.send(b"".join(wire.encoded(HELLO)[:3])[:-20], no_framing=True)
    overloaded = wire.send(*wire.encoded(HELLO)[:3], wire.encoded_error(f"overloaded {KEY}"))
    for error in all_fail(wire, [*broken, inside_an_event, overloaded], streaming=True):
        assert isinstance(error, TransientModelError)


def test_silence(wire: Wire):
    stalled = wire.send(*wire.encoded(HELLO)[:2], fault="stall")
    (error,) = all_fail(wire, [stalled], streaming=True, timeout=Timeouts(stall=0.2))
    assert isinstance(error, TransientModelError)
    (error,) = all_fail(wire, [Answer(fault="stall", before_headers=True)], streaming=False, timeout=0.2)
    assert isinstance(error, TransientModelError)
    assert "within 0.2 s" in str(error)


def test_a_truncated_body(wire: Wire):
    body = b"".join(wire.whole(HELLO).pieces)
    cut = [body[:-5], body[:-60]]
    answers = [Answer(pieces=[left], length=length, fault="close") for left in cut for length in (True, False)]
    answers += [Answer(pieces=[left], fault="reset") for left in cut]
    answers += [Answer(pieces=[left], no_framing=True) for left in cut]
    for error in all_fail(wire, answers, streaming=False):
        assert isinstance(error, TransientModelError)


@BOTH_WAYS
def test_nonsense_is_a_typed_error(wire: Wire, streaming: bool):
    bodies = [
        b"{}",
        b"[]",
        b'"text"',
        b"17",
        b'{"a":',
        b"not json",
        b"\xff\xfe",
        b"{" * 200,
        b'{"choices":7}',
        b'{"id":"x"}',
    ]
    page = Answer(pieces=[b"<html><body>Please log in</body></html>"], headers={"content-type": "text/html"})
    answers = [wire.send(wire.framed(body)) if streaming else Answer(pieces=[body]) for body in bodies]
    login, *others = all_fail(wire, [page, *answers], streaming=streaming)
    assert type(login) is BadReplyError
    assert "text/html" in str(login)
    for error in others:
        assert isinstance(error, (BadReplyError, TransientModelError))
