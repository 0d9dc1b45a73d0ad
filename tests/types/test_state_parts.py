"""The parts of a run's state: who has what, and that old names say where to look."""

from __future__ import annotations

from typing import get_args

import pytest

from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, ToolCall, UserMessage
from treadle._types.state import RunState, fold


def log(*events: ev.Event) -> list[ev.Record]:
    return [ev.Record("run", seq, float(seq), event) for seq, event in enumerate((ev.RunStarted("q"), *events))]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("window", "conversation.window"),
        ("open", "calls.open"),
        ("candidate", "answer.candidate"),
        ("constraint", "constraints.next"),
        ("spent", "spending.components"),
        ("pending_calls", "calls.pending()"),
    ],
)
def test_an_old_name_says_where_to_look(old: str, new: str):
    with pytest.raises(
        AttributeError, match=rf"no attribute '{old}': read state\.{new.replace('(', '.').replace(')', '.')}"
    ):
        getattr(RunState(), old)


def test_an_unknown_name_is_an_ordinary_error():
    with pytest.raises(AttributeError, match=r"'RunState' object has no attribute 'nothing'$"):
        getattr(RunState(), "nothing".lower())


def test_every_handler_is_of_an_event():
    tags = {event.__struct_config__.tag for event in get_args(ev.Event)}
    state = RunState()
    parts = [state, *vars(state).values()]
    handlers = {name for part in parts for name in dir(type(part)) if name.startswith("on_")}
    assert {name.removeprefix("on_") for name in handlers} <= tags


def test_a_message_that_arrives_while_calls_are_open_follows_their_results():
    call = ToolCall("c1", "add", {})
    events = (
        ev.ThinkDone("loop", 1, AssistantMessage("", (call,))),
        ev.MessageAdded(UserMessage("and now"), "note"),
        ev.ToolDone("c1", "add", 1, "3"),
    )
    assert [entry.component for entry in fold(log(*events[:2])).conversation.window] == ["question", "loop"]
    state = fold(log(*events))
    assert [entry.component for entry in state.conversation.window] == ["question", "loop", "tool:add", "note"]
    assert (state.calls.open, len(state.steps), state.turn.round_due) == ({}, 1, True)


def test_an_interrupt_at_an_answer_adds_an_iteration():
    events = (ev.ThinkDone("loop", 1, AssistantMessage("42"), answer="42"), ev.Injected(("m1",), ("wait",)))
    assert fold(log(events[0])).answer.pending
    state = fold(log(*events))
    assert (state.answer.pending, state.turn.extra_iterations, state.provenance.words) == (False, 1, ["q", "wait"])
