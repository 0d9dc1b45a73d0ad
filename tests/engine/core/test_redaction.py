"""Secrets are taken out of events."""

from __future__ import annotations

import time

import pytest

from treadle._engine.core import redaction
from treadle._engine.core.redaction import event_redactor
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, SystemMessage, ToolCall, UserMessage


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No redactor of another test is reused."""
    monkeypatch.setattr(redaction, "_made", {})


@pytest.mark.parametrize(
    "event",
    [
        ev.MessageAdded(UserMessage("the key is hunter2hunter2")),
        ev.ToolDone("c1", "read", 1, "PASSWORD=hunter2hunter2", full="hunter2hunter2 and more"),
        ev.ThinkDone("loop", 1, AssistantMessage("x", (ToolCall("c", "f", {"deep": [{"k": "hunter2hunter2"}]}),))),
        ev.RunFinished("answer", "hunter2hunter2"),
        ev.ThinkStarted("observer", 1, messages=(ev.Sent(message=SystemMessage("hunter2hunter2")),)),
        ev.Injected(("m",), ("hunter2hunter2",)),
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_secret_leaves_every_field_it_may_stand_in(event: ev.Event):
    clean = event_redactor(("hunter2hunter2",))(event)
    assert "hunter2" not in repr(clean)
    assert type(clean) is type(event)


def test_an_event_without_a_secret_is_handed_on_as_it_is():
    event = ev.MessageAdded(UserMessage("nothing to see"))
    assert event_redactor(("hunter2hunter2",))(event) is event


def test_what_only_repeats_the_state_is_not_looked_at():
    """The call was read from a reply that has been cleaned already."""
    event = ev.ToolStarted(ToolCall("c", "f", {"k": "hunter2hunter2"}), 1)
    assert event_redactor(("hunter2hunter2",))(event) is event


def test_secrets_of_the_environment_are_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOME_API_KEY", "zq-9f8e7d6c5b4a3210")
    assert "zq-9f8e" not in repr(event_redactor()(ev.MessageAdded(UserMessage("key zq-9f8e7d6c5b4a3210 leaked"))))


def test_a_redactor_is_made_once_for_the_same_secrets_and_environment(monkeypatch: pytest.MonkeyPatch):
    now = 1_000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    first = event_redactor(("first secret",))
    assert event_redactor(("first secret",)) is first
    assert event_redactor(("second secret",)) is not first
    now += 60
    assert event_redactor(("first secret",)) is first


def test_a_changed_environment_is_noticed_after_a_second(monkeypatch: pytest.MonkeyPatch):
    now = 1_000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    first = event_redactor()
    monkeypatch.setenv("SOME_API_KEY", "zq-9f8e7d6c5b4a3210")
    assert event_redactor() is first
    now += 2
    assert event_redactor() is not first
