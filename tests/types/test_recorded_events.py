"""The events that only recorded runs have: their stored shape, and what they do to the state."""

from __future__ import annotations

from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, ToolCall, UserMessage
from treadle._types.state import fold


def test_a_replaced_history_is_the_new_window_and_a_break():
    call = ToolCall("c1", "price")
    happened = [
        ev.RunStarted("q", system="old"),
        ev.ThinkStarted("loop", 1),
        ev.ThinkDone("loop", 1, AssistantMessage(calls=(call,))),
        ev.HistoryReplaced(1, (AssistantMessage("called"), UserMessage("result")), "new", "rewritten"),
    ]
    state = fold(ev.Record("r", seq, 1.0, event) for seq, event in enumerate(happened))
    assert [entry.message for entry in state.conversation.window][1:] == [
        AssistantMessage("called"),
        UserMessage("result"),
    ]
    assert not state.calls.pending()
    assert state.started is not None
    assert state.started.system == "new"
    assert state.conversation.breaks == [(3, "the program changed its request: rewritten")]
    assert len(state.conversation.transcript) == 4


def test_steps_of_another_program_do_not_use_up_the_limit():
    happened = [ev.RunStarted("q"), *(ev.Exchanged(step, "openai.chat") for step in (1, 2, 2, 3))]
    state = fold(ev.Record("r", seq, 1.0, event) for seq, event in enumerate(happened))
    assert state.turn.extra_iterations == 3
