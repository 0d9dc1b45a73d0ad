"""Records as items to display."""

from __future__ import annotations

from treadle import Usage
from treadle._cli.display.timeline import Card, Item, Line, Timeline, ending
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, ToolCall
from treadle._types.request import Citation, ProviderCall
from treadle._view.items import Answer

ADD = ToolCall("c1", "add", {"a": 1, "b": 2})


def records(*events: ev.Event, run: str = "r") -> list[ev.Record]:
    return [ev.Record(run, seq, 100.0 + seq, event) for seq, event in enumerate(events)]


def items(timeline: Timeline, *events: ev.Event) -> list[Item]:
    return [item for record in records(*events) for item in timeline.feed(record)]


def test_a_thought_a_call_and_the_answer():
    timeline = Timeline("r")
    shown = items(
        timeline,
        ev.RunStarted("?"),
        ev.ThinkStarted("loop", 1),
        ev.ThinkDone("loop", 1, AssistantMessage(calls=(ADD,)), thought="I add.", usage=Usage(5, 2)),
        ev.ToolStarted(ADD, 1),
        ev.ToolDone("c1", "add", 1, "3", elapsed=0.5),
        ev.AnswerStarted("loop"),
        ev.AnswerDone("Three.", "loop"),
    )
    thought, card, answer = shown
    assert thought == Line("thought", "I add.")
    assert isinstance(card, Card)
    assert (card.call.tool, card.call.args, card.call.content) == ("add", {"a": 1, "b": 2}, "3")
    assert answer == Answer("answer", "final", "Three.", "loop")
    assert (timeline.iteration, timeline.usage.total_tokens) == (1, 7)


def test_what_is_going_on():
    timeline = Timeline("r")
    for event, activity in (
        (ev.ThinkStarted("planner", 1), "planning"),
        (ev.ThinkStarted("loop", 1), "thinking"),
        (ev.ToolStarted(ADD, 1), "working"),
        (ev.AnswerStarted("synthesis"), "writing the answer"),
    ):
        items(timeline, event)
        assert timeline.activity == activity
    assert [card.call.tool for card in timeline.running()] == ["add"]


def test_what_is_being_written_is_an_answer_or_a_thought():
    timeline = Timeline("r")
    items(timeline, ev.ThinkStarted("loop", 1), ev.TextStreamed("loop", 1, "hm"))
    assert (timeline.streamed, timeline.answering) == ("hm", False)
    items(timeline, ev.AnswerDelta("Let me", True), ev.AnswerDelta(" see", True))
    assert (timeline.streamed, timeline.answering) == ("Let me see", True)
    items(timeline, ev.AnswerRetracted("Let me see"))
    assert (timeline.streamed, timeline.answering) == ("", False)
    items(
        timeline, ev.AnswerDelta("It is 3."), ev.ThinkDone("loop", 1, AssistantMessage("It is 3."), answer="It is 3.")
    )
    assert timeline.streamed == "It is 3.", "it stands until the whole answer is printed"
    items(timeline, ev.AnswerStarted("loop"), ev.AnswerDone("It is 3.", "loop"))
    assert timeline.streamed == ""


def test_what_runs_inside_write_is_not_mixed_into_it():
    timeline = Timeline("r")
    items(timeline, ev.AnswerDelta("BOSS"))
    list(timeline.feed(ev.Record("run.c1", 3, 0.0, ev.AnswerDelta("CHILD"), "run", 1, 1)))
    assert timeline.streamed == "BOSS"


def test_output_that_comes_before_its_call_has_an_id():
    timeline = Timeline("r")
    items(timeline, ev.ToolOutput("", "add", "early "), ev.ToolStarted(ADD, 1), ev.ToolOutput("c1", "add", "late"))
    assert [card.call.output for card in timeline.running()] == ["early late"]


def test_past_records_are_not_shown_again():
    past = records(ev.RunStarted("?"), ev.ThinkDone("loop", 2, AssistantMessage("x"), thought="old", usage=Usage(5, 2)))
    timeline = Timeline("r", past)
    assert timeline.usage.total_tokens == 7
    assert items(timeline, ev.Resumed("paused")) == [Line("divider", "resumed (paused)")]


def test_children_are_indented():
    timeline = Timeline("r")
    child = [ev.RunStarted("sub-task", depth=1), ev.ThinkDone("loop", 1, AssistantMessage("x"), thought="below")]
    shown = [item for record in records(*child, run="r.child") for item in timeline.feed(record)]
    assert shown == [Line("thought", "below", depth=1)]


def test_the_last_line():
    assert ending("answer", 1, 0.5, "15 tokens", "0123456789") == "1 step · 500 ms · 15 tokens · run 01234567"
    assert ending("limit", 2, 61, "15 tokens", "0123456789").startswith("limit · 2 steps · 1 min 1 s")


def test_what_the_provider_did_by_itself_and_what_is_cited():
    used = ev.ProviderToolsUsed(
        "loop",
        1,
        (ProviderCall("web_search", "s1", "rain\nBergen"), ProviderCall("web_fetch", "s2", error="unavailable")),
        tuple(Citation(f"https://a{number}.no", f"Page {number}\x1b[2J") for number in range(7)),
    )
    search, fetch, cited = items(Timeline("r"), used)
    assert search == Line("note", "web_search at the provider: rain Bergen")
    assert fetch == Line("warning", "web_fetch at the provider failed (unavailable)")
    assert isinstance(cited, Line)
    assert cited.text.startswith("cited: Page 0")
    assert cited.text.endswith("and 2 more")
    assert "\x1b" not in cited.text


def test_the_ledger_follows_the_answer():
    """What was not done, and what was done by tools that say that they act."""
    act = ev.Act({"order": 1}, "k", declared=True)
    shown = items(
        Timeline("r"),
        ev.RunStarted("?"),
        ev.ToolDone("c1", "refund", 1, "refunded", act=act),
        ev.ToolDone("c2", "ask", 1, "it is", act=ev.Act()),
        ev.ToolDone("c3", "ask", 1, "Error: gone", act=ev.Act()),
        ev.RunFinished("answer", "Done.", success=True),
    )
    assert [item for item in shown if isinstance(item, Line)] == [
        Line("note", "done: refund (order 1)"),
        Line("warning", "not done: ask: Error: gone"),
    ]


def test_the_same_failure_is_told_once():
    failed = [ev.ThinkFailed("loop", 1, attempt, "no model at http://x", wait=0.1) for attempt in (1, 2)]
    shown = [item.text for item in items(Timeline("r"), *failed, ev.ThinkFailed("loop", 1, 3, "it hung up"))]
    assert shown == [
        "attempt 1 failed: no model at http://x; next attempt in 100 ms",
        "attempt 2 failed in the same way; next attempt in 100 ms",
        "attempt 3 failed: it hung up",
    ]
