"""Records become the events of the stream, each with an id from which a client can continue."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle._server.live.positions import START, ClientEvent, Position, read_position
from treadle._server.live.projection import _DRAWN, Projection
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, ToolCall
from treadle._types.usage import Usage
from treadle._view import items as it

HTTP = Path(__file__).parents[3] / "docs" / "reference" / "http.md"
_ROWS = re.findall(r"^- `(\w+)`: .*\(`([\w ]+)`\)$", HTTP.read_text("utf-8").partition("## Bodies")[0], re.MULTILINE)
DOCUMENTED = {name: set(fields.split()) for name, fields in _ROWS}
CALL = ToolCall("c1", "add", {"a": 1})
SECOND = ToolCall("c2", "echo", {"text": "x"})


def log(*events: ev.Event) -> list[ev.Record]:
    return [ev.Record("r", seq, 100.0 + seq, event) for seq, event in enumerate(events)]


def show(records: list[ev.Record], detail: Any = "plain") -> list[tuple[str, str, dict[str, Any]]]:
    projection = Projection(detail)
    events = [event for record in records for event in projection.feed(record)]
    for event in events:
        assert event.name == "phase" or event.data.keys() <= DOCUMENTED[event.name], "docs/reference/http.md"
    return [(str(event.at), event.name, event.data) for event in events]


LOOP = (
    ev.RunStarted("what?"),
    ev.ThinkStarted("loop", 1),
    ev.ThinkDone("loop", 1, AssistantMessage(calls=(CALL,)), thought="add them", usage=Usage(10, 5, requests=1)),
    ev.ToolStarted(CALL, 1),
    ev.ToolDone("c1", "add", 1, "3", elapsed=0.5),
    ev.ThinkStarted("loop", 2),
    ev.ThinkDone("loop", 2, AssistantMessage("It is 3."), answer="It is 3.", usage=Usage(20, 5, requests=1)),
)
CALLED = {"type": "iteration", "iteration": 1, "tool_name": "add", "call_id": "c1"}
LOOP_SHOWN = [
    ("1", "step", {"type": "thinking", "status": "start", "iteration": 1}),
    ("2", "step", {"type": "thinking", "status": "done", "iteration": 1, "reasoning": "add them"}),
    ("3", "step", {**CALLED, "status": "start", "tool_args": {"a": 1}}),
    ("4", "step", {**CALLED, "status": "done", "observation": "3", "error": None, "iter_elapsed": 0.5}),
    ("5", "step", {"type": "thinking", "status": "start", "iteration": 2}),
    ("6", "step", {"type": "thinking", "status": "done", "iteration": 2, "reasoning": ""}),
]
USAGE = {**msgspec.structs.asdict(Usage(30, 10, requests=2, tool_calls=1)), "total_tokens": 40}


def done(
    at: str, answer: str, elapsed: float, reason: str = "answer", success: bool = True
) -> tuple[str, str, dict[str, Any]]:
    more = {"stop_reason": reason, "success": success, "run_id": "r"}
    return at, "done", {"answer": answer, "iterations": 2, "usage": USAGE, "elapsed": elapsed, **more}


SYNTHESIS = (
    *LOOP,
    ev.AnswerStarted("synthesis"),
    ev.ThinkStarted("synthesis", 2),
    ev.ThinkFailed("synthesis", 2, 1, "dropped", 0.1),
    ev.ThinkDone("synthesis", 2, AssistantMessage("**Three**, it is.")),
    ev.AnswerDone("**Three**, it is.", "synthesis"),
    ev.RunFinished("answer", "**Three**, it is.", "It is 3."),
)


def test_synthesis_that_had_to_begin_again():
    shown = show(log(*SYNTHESIS))[len(LOOP_SHOWN) :]
    assert shown == [
        ("7", "step", {"type": "answer", "status": "start"}),
        ("7.0", "answer", {"status": "start"}),
        ("9", "reset", {"component": "synthesis", "attempt": 1, "error": "dropped", "wait": 0.1}),
        ("9.17", "answer", {"status": "delta", "content": "**Three**, it is."}),
        ("11", "answer", {"status": "done"}),
        done("12", "**Three**, it is.", 12.0),
    ]


def test_text_as_it_is_written_then_the_rest_from_the_record():
    projection = Projection()
    records = log(*LOOP, ev.AnswerStarted("synthesis"), ev.ThinkStarted("synthesis", 2))
    for record in records:
        projection.feed(record)
    pieces = [projection.piece(text) for text in ("  ", "\nHel", "lo ", " wor")]
    assert [(str(p.at), p.data["content"]) if p else None for p in pieces] == [
        None,
        ("7.3", "Hel"),
        ("7.5", "lo"),
        ("7.10", "  wor"),
    ]
    rest = projection.feed(ev.Record("r", 9, 109.0, ev.AnswerDone("Hello  world", "synthesis")))
    assert [(str(e.at), e.data) for e in rest] == [
        ("7.12", {"status": "delta", "content": "ld"}),
        ("9", {"status": "done"}),
    ]


def test_an_answer_that_was_changed_after_it_streamed_is_sent_again():
    projection = Projection()
    for record in log(*LOOP, ev.AnswerStarted("synthesis")):
        projection.feed(record)
    projection.piece("secret: 123")
    shown = projection.feed(ev.Record("r", 8, 108.0, ev.AnswerDone("secret: [redacted]", "synthesis")))
    assert [(str(e.at), e.name) for e in shown] == [("8", "reset"), ("8.0", "answer"), ("8.1", "answer")]
    assert shown[1].data == {"status": "delta", "content": "secret: [redacted]"}


def test_a_failure_is_an_error_and_not_an_answer():
    records = log(
        *LOOP,
        ev.AnswerStarted("error"),
        ev.AnswerDone("The model could not be used any further.", "error"),
        ev.RunFinished(
            "error",
            "The model could not be used any further.",
            success=False,
            error="HTTP 500",
            error_type="ModelError",
        ),
    )
    error = {
        "type": "ModelError",
        "message": "HTTP 500",
        "stop_reason": "error",
        "partial": "The model could not be used any further.",
    }
    assert show(records)[len(LOOP_SHOWN) :] == [("9", "error", error), done("9.0", "", 9.0, "error", False)]


def test_out_of_time_is_an_error_too():
    records = log(
        *LOOP,
        ev.RunFinished(
            "budget", "No final answer", success=False, error="60 seconds", error_type="BudgetExhaustedError"
        ),
    )
    assert [(at, name) for at, name, _ in show(records)[-2:]] == [("7", "error"), ("7.0", "done")]


def test_a_limit_with_an_answer_is_an_answer():
    records = log(
        *LOOP,
        ev.AnswerStarted("loop"),
        ev.AnswerDone("So far: 3", "loop"),
        ev.RunFinished("limit", "So far: 3", error="50 iterations"),
    )
    assert show(records)[-1] == done("9", "So far: 3", 9.0, "limit")


def test_a_call_that_was_refused_before_it_started_still_has_both_ends():
    records = log(
        ev.RunStarted("?"),
        ev.ThinkDone("loop", 1, AssistantMessage(calls=(CALL, SECOND))),
        ev.ToolDone("c2", "echo", 1, "Not run", error="rejected", executed=False),
    )
    shown = show(records)
    assert [(at, data["status"], data["call_id"]) for at, _, data in shown[1:]] == [
        ("2", "start", "c2"),
        ("2.0", "done", "c2"),
    ]
    assert shown[1][2]["tool_args"] == {"text": "x"}
    assert shown[2][2]["error"] == "rejected"


def test_the_rest_of_the_table():
    records = log(
        ev.RunStarted("?"),
        ev.ToolSelectionStarted(20),
        ev.LoopStarted(),
        ev.Injected(("a", "b"), ("one", "two")),
        ev.ContextCompacted(original_messages=9, kept_messages=4, reason="compact", summary="long ago"),
        ev.PlanChanged((ev.PlanStep("look", True), ev.PlanStep("think"))),
        ev.Paused("approval of send", (CALL, SECOND)),
        ev.Approved("c1", True, "me"),
        ev.Resumed("paused"),
        ev.Paused("approval of send", (CALL, SECOND)),
        ev.StepStarted("s1", "r.s1", "look it up"),
        ev.StepDone("s1", "completed", "found", elapsed=1.5),
        ev.Reflected(1, "hm"),
        ev.AnswerStarted("loop"),
        ev.AnswerStarted("loop"),
    )
    shown = show(records)
    assert [(at, name) for at, name, _ in shown] == [
        ("1", "phase"),
        ("3", "inject"),
        ("4", "compact"),
        ("5", "phase"),
        ("6", "phase"),
        ("7", "phase"),
        ("8", "phase"),
        ("9", "phase"),
        ("10", "step_progress"),
        ("11", "step_progress"),
        ("13", "step"),
        ("13.0", "answer"),
        ("14", "reset"),
        ("14.0", "answer"),
    ]
    data = [data for _, _, data in shown]
    assert data[0] == {"phase": "selecting_tools", "total_tools": 20}
    assert data[1] == {"type": "inject", "content": "one\n\ntwo", "ids": ("a", "b")}
    assert data[2] == {"original_messages": 9, "kept_messages": 4, "reason": "compact"}
    assert data[3]["steps"] == [{"text": "look", "done": True}, {"text": "think", "done": False}]
    assert [call["call_id"] for call in data[4]["calls"]] == ["c1", "c2"]
    assert [call["call_id"] for call in data[7]["calls"]] == ["c2"], "what is decided is not asked again"
    assert data[8] == {"step": "s1", "status": "started", "task": "look it up", "run": "r.s1", "round": 1}
    assert data[9]["status"] == "completed"


def test_full_detail_adds_names_and_never_changes_what_plain_says():
    records = log(
        *SYNTHESIS[:7],
        ev.Reflected(1, "hm"),
        ev.ThinkStarted("planner", 1),
        ev.ThinkDone("planner", 1, AssistantMessage()),
        *SYNTHESIS[7:],
    )
    plain, full = show(records), show(records, "full")
    extra = [event for event in full if event not in plain]
    assert [event for event in full if event in plain] == plain
    assert {name for _, name, _ in extra} == {"activity", "phase"}


def test_every_item_is_shown_or_left_out_on_purpose():
    assert {item.__name__ for item in it.Item.__args__} - {item.__name__ for item in _DRAWN} == {
        "Turn",
        "Status",
        "Cost",
    }


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "1.", ".5", "1.2.3", "1.-2", "1 2", "9" * 30, "1." + "9" * 30, "²", "1.²"]
)
def test_ids_that_are_not_ours(text: str):
    assert read_position(text) is None


def test_ids_in_order():
    ids = ["0", "3", "3.0", "3.1", "3.20", "4"]
    positions = [read_position(text) for text in ids]
    assert [str(position) for position in positions] == ids
    assert positions == sorted(positions)  # pyright: ignore[reportArgumentType]


def seen(events: list[ClientEvent]) -> list[tuple[str, Any]]:
    """What a client has in its hands: texts as one, however they were cut."""
    merged: list[tuple[str, Any]] = []
    for event in events:
        if event.text_from >= 0 and merged and merged[-1][0] == "text":
            merged[-1] = ("text", merged[-1][1] + event.data["content"])
        elif event.text_from >= 0:
            merged.append(("text", event.data["content"]))
        else:
            merged.append((event.name, event.data))
    return merged


@given(
    drops=st.lists(st.integers(1, 4), min_size=1, max_size=30),
    cuts=st.lists(st.integers(1, 5), min_size=1, max_size=20),
)
def test_wherever_a_client_drops_it_sees_the_rest_once(drops: list[int], cuts: list[int]):
    """`cuts` is how the answer streamed the first time, `drops` how many events each connection lasts."""
    records = log(*SYNTHESIS)
    complete = seen([event for record in records for event in _fresh(records, START, []) if event.at.seq == record.seq])
    got: list[ClientEvent] = []
    position = START
    for lasts in [*drops, 1000]:
        batch = _fresh(records, position, cuts)[:lasts]
        got += batch
        position = batch[-1].at if batch else position
    assert seen(got) == complete


def _fresh(records: list[ev.Record], after: Position, cuts: list[int]) -> list[ClientEvent]:
    projection = Projection()
    shown: list[ClientEvent] = []
    for record in records:
        shown += projection.feed(record)
        if isinstance(record.event, ev.ThinkFailed):
            text, sizes = "**Three**, it is.", list(cuts)
            while text and sizes:
                size = sizes.pop(0)
                if (piece := projection.piece(text[:size])) is not None:
                    shown.append(piece)
                text = text[size:]
    return [rest for event in shown if (rest := event.after(after)) is not None]


def test_a_call_that_waits_for_its_result_says_so_and_its_answer_is_shown():
    records = log(
        ev.RunStarted("?"),
        ev.Paused("result of add", (msgspec.structs.replace(CALL, external=True), SECOND)),
        ev.Resumed("paused"),
        ev.ToolAnswered("c1", "5", by="me", tool="add"),
    )
    paused, _, answered = [data for _, _, data in show(records)][-3:]
    assert [call.get("external", False) for call in paused["calls"]] == [True, False]
    assert (answered["phase"], answered["call_id"], answered["by"]) == ("answered", "c1", "me")


def test_a_refused_call_is_never_called_approved():
    records = log(
        ev.RunStarted("?"),
        ev.Paused("approval", (CALL, SECOND)),
        ev.Resumed("paused"),
        ev.Approved("c1", False, "me", "no"),
        ev.Approved("c2", True, "me", args={"a": 5}, always=True),
    )
    refused, approved = [data for _, _, data in show(records)][-2:]
    assert (refused["phase"], refused["allow"], refused["note"]) == ("refused", False, "no")
    assert (approved["phase"], approved["tool_args"], approved["always"]) == ("approved", {"a": 5}, True)
    assert "tool_args" not in refused


def test_what_streaming_text_has_cost_is_shown_when_it_is_stopped():
    spent = Usage(10, 5, requests=1, estimated_tokens=15)
    records = log(
        ev.RunStarted("write"),
        ev.ThinkStarted("loop", 1),
        ev.AnswerPartial("It was", usage=spent),
        ev.ThinkFailed("loop", 1, 1, ev.CUT_OFF, usage=spent),
        ev.RunFinished("cancelled", answer="It was", success=False),
    )
    items = [item for _, _, data in show(records, "items") for item in data["items"]]
    assert [item.total_tokens for item in items if isinstance(item, it.Cost)] == [15]
    assert not [item for item in items if isinstance(item, it.Retry)]  # a stop is no failure
