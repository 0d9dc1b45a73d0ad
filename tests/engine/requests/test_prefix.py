"""The prefix check itself: it finds a request that does not extend the one before, and says who changed what."""

from __future__ import annotations

from typing import Any

import pytest

from treadle._engine.requests.prefix import prefix_breaks
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, SystemMessage, UserMessage
from treadle._types.profile import Profile
from treadle._types.request import Request, ToolSchema

SYSTEM, QUESTION = SystemMessage("be brief"), UserMessage("q", pinned=True)
TOOL = ToolSchema("add", "", {})


def log(*events: Any) -> list[ev.Record]:
    return [ev.Record("run", n, 0.0, event) for n, event in enumerate((ev.RunStarted("q"), *events))]


def think(component: str = "loop") -> tuple[ev.ThinkStarted, ev.ThinkDone]:
    return ev.ThinkStarted(component, 1), ev.ThinkDone(component, 1, AssistantMessage("said"))


FIRST = Request([SYSTEM, QUESTION])
LONGER = Request([SYSTEM, QUESTION, AssistantMessage("said"), UserMessage("go on")])
CHANGED = Request([SYSTEM, UserMessage("other"), AssistantMessage("said")])


def test_requests_that_grow_are_fine():
    assert prefix_breaks([FIRST, LONGER, LONGER]) == []
    assert prefix_breaks([]) == []


def test_equal_messages_are_the_same_whoever_made_them():
    assert prefix_breaks([FIRST, Request([SystemMessage("be brief"), UserMessage("q", pinned=True)])]) == []


def test_a_changed_message_is_named_with_its_place_and_who_put_it_there():
    (broken,) = prefix_breaks([FIRST, CHANGED], log(*think(), *think()))
    assert (broken.component, broken.number, broken.origin) == ("loop", 1, "question")
    assert "request 1 of loop: message 1, put there by question, changed" in broken.describe()
    assert '"q"' in broken.before
    assert '"other"' in broken.after


def test_a_message_that_is_gone_is_a_break():
    (broken,) = prefix_breaks([LONGER, FIRST])
    assert broken.after == ""


def test_changed_tools_are_a_break():
    (broken,) = prefix_breaks([FIRST, Request(FIRST.messages, (TOOL,))])
    assert "the tools changed" in broken.describe()


@pytest.mark.parametrize(
    "declared",
    [
        ev.ContextCompacted(covers=(0,)), ev.DialectDemoted("json", "native", "r"), ev.MessageRetracted(1, "guard"),
        ev.ModelSwitched("b", "a", "r", Profile()), ev.ToolsChanged((TOOL,)),
    ],
    ids=lambda event: type(event).__name__,
)  # fmt: skip
def test_a_break_that_the_log_declares_is_none(declared: Any):
    assert prefix_breaks([FIRST, CHANGED], log(*think(), declared, *think())) == []


def test_a_break_is_declared_for_the_next_request_only():
    again = Request([UserMessage("all new")])
    records = log(*think(), ev.ContextCompacted(covers=(0,)), *think(), *think())
    assert [broken.number for broken in prefix_breaks([FIRST, CHANGED, again], records)] == [2]


def test_each_adviser_has_a_prefix_of_its_own():
    advice = Request([UserMessage("look")], component="observer")
    assert prefix_breaks([FIRST, advice, LONGER]) == []
    (broken,) = prefix_breaks([advice, FIRST, Request([UserMessage("other")], component="observer")])
    assert (broken.component, broken.origin) == ("observer", "observer")


def test_an_adviser_may_declare_a_break_of_its_own():
    first, second = Request([UserMessage("a")], component="planner"), Request([UserMessage("b")], component="planner")
    records = log(*think("planner"), ev.Noted("planner", {"break": "a new plan"}), *think("planner"))
    assert prefix_breaks([first, second], records) == []
    other = log(*think("planner"), ev.Noted("observer", {"break": "not mine"}), *think("planner"))
    assert len(prefix_breaks([first, second], other)) == 1


def test_a_repair_continues_the_loops_conversation():
    repair = Request([SYSTEM, UserMessage("else")], component="repair")
    assert [broken.component for broken in prefix_breaks([FIRST, repair])] == ["repair"]
    assert prefix_breaks([FIRST, LONGER.replace(component="repair")]) == []


def test_an_attempt_that_is_repeated_is_a_request_too():
    records = log(
        *think(), ev.ThinkStarted("loop", 2), ev.ThinkFailed("loop", 2, 1, "busy", 0.0),
        ev.ContextCompacted(covers=(0,)), *think(),
    )  # fmt: skip
    assert prefix_breaks([FIRST, FIRST, FIRST, CHANGED], records) == []
    assert len(prefix_breaks([FIRST, FIRST, CHANGED, CHANGED], records)) == 1
