"""Which conversations are remembered, and for how long."""

from __future__ import annotations

import pytest

from record.exchanges import QUESTION
from treadle._record import conversations
from treadle._record.conversations import Conversation, Conversations, fingerprint
from treadle._record.reading.requests import chat_messages
from treadle._types.messages import AssistantMessage, ToolCall


def known(run: str, active: float, size: int = 10) -> Conversation:
    one = Conversation(run)
    one.asked([fingerprint(message) for message in chat_messages([QUESTION])])
    one.active, one.pieces = active, (("message 1", b"x" * size),)
    return one


def test_the_ones_that_were_silent_longest_are_closed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(conversations, "MAX_OPEN", 3)
    monkeypatch.setattr(conversations.time, "monotonic", lambda: 100.0)
    kept = Conversations()
    for number in range(5):
        kept.add(known(f"r{number}", float(number)))
    assert [one.run for one in kept.silent()] == ["r0", "r1"]
    for one in kept.silent():
        kept.remove(one)
    assert len(kept) == 3
    assert kept.silent() == []
    monkeypatch.setattr(conversations, "MAX_BYTES", 15)
    assert [one.run for one in kept.silent()] == ["r2", "r3"]
    monkeypatch.setattr(conversations, "MAX_BYTES", 1)
    assert "r4" not in [one.run for one in kept.silent()]
    monkeypatch.setattr(conversations, "MAX_BYTES", 10**9)
    monkeypatch.setattr(conversations.time, "monotonic", lambda: 3.5 + conversations.SILENT_SECONDS)
    assert [one.run for one in kept.silent()] == ["r2", "r3"]


def test_ids_do_not_matter_to_what_a_message_says():
    one, other = (AssistantMessage("x", (ToolCall(name, "price", {"a": 1, "b": 2}),)) for name in ("c1", "c2"))
    assert fingerprint(one) == fingerprint(other)
    assert fingerprint(one) != fingerprint(AssistantMessage("x", (ToolCall("c1", "price", {"a": 1}),)))
