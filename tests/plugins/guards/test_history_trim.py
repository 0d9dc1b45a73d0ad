"""HistoryTrim: the oldest messages are dropped above a number, in whole groups."""

from __future__ import annotations

from typing import Any

from kit import assert_paired, call, echo
from plugins.aids import run_of
from treadle import Agent, ScriptedModel
from treadle._plugins.guards.history_trim import HistoryTrim, oldest_groups
from treadle._types.events import ContextCompacted
from treadle._types.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from treadle._types.state_values import Entry


def window(*messages: Any) -> list[Entry]:
    return [Entry(message, seq, "loop") for seq, message in enumerate(messages)]


def pair(name: str) -> tuple[AssistantMessage, ToolMessage]:
    return AssistantMessage("", (ToolCall(name, "echo", {}),)), ToolMessage(name, "echo", "r")


QUESTION = UserMessage("the question", pinned=True)


def test_whole_groups_go_the_oldest_first_and_pinned_messages_stay():
    entries = window(QUESTION, *pair("a"), *pair("b"), UserMessage("more"), *pair("c"))
    assert oldest_groups(entries, keep=8) == []
    assert oldest_groups(entries, keep=7) == [1, 2]
    assert oldest_groups(entries, keep=5) == [1, 2, 3, 4]
    assert oldest_groups(entries, keep=1) == [1, 2, 3, 4, 5], "the newest group always stays"


def run(limit: int | None, rounds: int) -> tuple[ScriptedModel, list[ContextCompacted]]:
    model = ScriptedModel([*[call("echo", text=str(number)) for number in range(rounds)], "done"])
    result, run = run_of(Agent(model, [echo], max_history_messages=limit, max_iterations=50), "the question")
    assert result.answer == "done"
    return model, [record.event for record in run.records if isinstance(record.event, ContextCompacted)]


def test_the_history_is_cut_to_the_number_itself_and_only_above_it():
    model, trims = run(5, 4)
    assert [len(request.messages) for request in model.requests] == [1, 3, 5, 5, 5]
    assert len(trims) == 2
    model, trims = run(10, 20)
    for request in model.requests:
        assert len(request.messages) <= 10
        assert request.messages[0].content == "the question"
        assert_paired(request.messages)
    assert {(event.reason, event.summary) for event in trims} == {("trim", "")}
    assert all(event.original_messages - event.kept_messages == len(event.covers) for event in trims)
    assert run(100, 5)[1] == []
    assert run(None, 20)[1] == []


def test_a_single_group_that_is_too_long_stays():
    model = ScriptedModel([[call("echo", text=str(number)) for number in range(8)], "done"])
    result, _ = run_of(Agent(model, [echo], max_history_messages=4, plugins=[HistoryTrim()]))
    assert result.answer == "done"
    assert_paired(model.requests[-1].messages)
    assert len(result.steps) == 8
