"""The values a state is made of: what of a window must stay together."""

from __future__ import annotations

from treadle._types.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from treadle._types.state_values import Entry, groups

CALL = ToolCall("c1", "add")


def test_a_reply_and_its_results_are_one_group_and_any_other_message_is_one():
    result = ToolMessage("c1", "add", "3")
    messages = [UserMessage("q"), AssistantMessage(calls=(CALL, CALL)), result, result, UserMessage("go on")]
    window = [Entry(message, seq, "x") for seq, message in enumerate(messages)]
    assert [[entry.seq for entry in group] for group in groups(window)] == [[0], [1, 2, 3], [4]]
    assert [[entry.seq for entry in group] for group in groups(window[2:3])] == [[2]]
    assert list(groups([])) == []
