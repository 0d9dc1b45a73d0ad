"""Secrets are taken out of events."""

from __future__ import annotations

import time

import pytest

from kit import go
from treadle import Agent, OpenAIModel, ScriptedModel
from treadle._engine.core import redaction
from treadle._engine.core.redaction import LiveRedaction, event_redactor
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, SystemMessage, ToolCall, UserMessage
from treadle._types.request import Reply


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


def shown_of(*events: ev.Event, secrets: tuple[str, ...] = ("hunter2hunter2",)) -> list[ev.Event]:
    """What a watcher sees; a record shows what it ends."""
    live = LiveRedaction(event_redactor(secrets))
    shown: list[ev.Event] = []
    for event in events:
        shown += live.pieces(event) if isinstance(event, ev.TRANSIENT) else [*live.ends(event), event]
    return shown


PIECES = {
    "answer": (lambda text: ev.AnswerDelta(text), ev.AnswerDone("", "loop")),
    "text": (lambda text: ev.TextStreamed("loop", 1, text), ev.ThinkDone("loop", 1, AssistantMessage(""))),
    "thought": (lambda text: ev.TextStreamed("loop", 1, text, True), ev.ThinkDone("loop", 1, AssistantMessage(""))),
    "output": (lambda text: ev.ToolOutput("c1", "t", text), ev.ToolDone("c1", "t", 1, "")),
    "end of the run": (lambda text: ev.AnswerDelta(text), ev.RunFinished("answer")),
}


@pytest.mark.parametrize("kind", PIECES)
def test_a_secret_that_is_cut_in_two_is_not_shown(kind: str):
    piece, end = PIECES[kind]
    text = "the password is hunter2hunter2, or hunter"
    for cut in range(len(text) + 1):
        *shown, last = shown_of(piece(text[:cut]), piece(text[cut:]), end)
        assert last == end
        assert "".join(event.text for event in shown) == "the password is [redacted:secret], or hunter"  # pyright: ignore


def test_texts_that_are_written_at_the_same_time_do_not_mix():
    one, two = (lambda text, call=call: ev.ToolOutput(call, "t", text) for call in ("1", "2"))
    other = ev.ToolDone("2", "t", 1, "")
    shown = shown_of(one("hunter2"), two("hunter2"), other, ev.Injected(("m",), ("x",)), one("hunter2!"))
    assert [event for event in shown if isinstance(event, ev.ToolOutput)] == [two("hunter2"), one("[redacted:secret]!")]


def test_thinking_ends_where_the_text_begins():
    shown = shown_of(ev.TextStreamed("loop", 1, "hunter2", True), ev.TextStreamed("loop", 1, "so"))
    assert shown == [ev.TextStreamed("loop", 1, "hunter2", True), ev.TextStreamed("loop", 1, "so")]


@pytest.mark.parametrize("void", [ev.Reset("loop", 2), ev.ThinkFailed("loop", 1, 1, "lost", None)])
def test_what_was_held_of_an_attempt_that_is_void_is_dropped(void: ev.Event):
    shown = shown_of(ev.TextStreamed("loop", 1, "a hunter2"), void, ev.TextStreamed("loop", 1, "hunter2!"))
    assert shown == [ev.TextStreamed("loop", 1, "a "), void, ev.TextStreamed("loop", 1, "hunter2!")]


def test_a_piece_without_a_secret_is_handed_on_as_it_is():
    event = ev.AnswerDelta("just words, ")
    assert shown_of(event)[0] is event


def test_a_key_given_to_a_model_after_the_run_began_is_known():
    redact = event_redactor()
    event = ev.MessageAdded(UserMessage("the key is given-later-4711"))
    assert redact(event) is event
    model = OpenAIModel("m", api_key="given-later-4711")
    assert "4711" not in repr(redact(event))
    del model


def test_redactors_for_other_secrets_do_not_pile_up():
    for number in range(50):
        event_redactor((f"secret number {number}",))
    assert len(redaction._made) <= 8  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("answer", ["direct", "synthesize"])
def test_nobody_who_watches_a_run_sees_a_secret_that_its_model_writes_in_pieces(answer: str):
    reply = Reply(text="It is hunter2hunter2, yes.", reasoning="I know hunter2hunter2!", finish="stop")
    model = ScriptedModel([reply], repeat_last=True, chunk=3)
    agent = Agent(model, tools=None, secrets=["hunter2hunter2"], answer=answer)

    async def main() -> list[ev.Event]:
        return [event async for event in agent.stream("?")]

    pieces = [event for event in go(main()) if isinstance(event, (ev.TextStreamed, ev.AnswerDelta))]
    shown = "".join(piece.text for piece in pieces)
    assert "[redacted:secret]" in shown
    assert "hunter2" not in shown
