"""Records become items: the same ones live and from a stored log."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit import go
from scripts import BOUND, TEXT, TOOLS, actions, dialects, reply
from strategies import values_of
from treadle import Agent, RetryPolicy, ScriptedModel, TreadleError, open_journal
from treadle._journal.export import read_export
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, ToolCall
from treadle._types.usage import Usage
from treadle._view import items as it
from treadle._view.fold import _HANDLERS, RunView

DATA = Path(__file__).parents[1] / "data"
EXAMPLE = Path(__file__).parents[2] / "docs" / "dag_example.jsonl"
ADD = ToolCall("c1", "add", {"a": 1})
ECHO = ToolCall("c2", "echo", {"text": "x"})


def log(*events: ev.Event) -> list[ev.Record]:
    return [ev.Record("r", seq, 100.0 + seq, event) for seq, event in enumerate(events)]


def changes(*events: ev.Event, view: RunView | None = None) -> list[it.Change]:
    view = view or RunView()
    return [change for record in log(*events) for change in view.feed(record)]


def view_of(records: Sequence[ev.Record]) -> RunView:
    view = RunView()
    for record in records:
        view.feed(record)
    return view


def stored(view: RunView) -> list[it.Item]:
    """The items without what is only live: drafts, and the text of what is still being written."""
    kept: list[it.Item] = []
    for item in view.items.values():
        if isinstance(item, it.Answer) and item.state != "final":
            item = msgspec.structs.replace(item, state="open", text="") if item.source else None
        elif isinstance(item, it.Call):
            item = msgspec.structs.replace(item, output="")
        if item is not None:
            kept.append(item)
    return sorted(kept, key=lambda item: item.id == "answer")  # there is one, drawn after the others


def states(found: Sequence[it.Change], kind: type) -> list[str]:
    return [change.item.state for change in found if isinstance(change, it.Put) and isinstance(change.item, kind)]


def test_thought_call_answer():
    found = changes(
        ev.RunStarted("What is it?", model="m"),
        ev.ThinkStarted("loop", 1),
        ev.ThinkDone("loop", 1, AssistantMessage(calls=(ADD,)), thought="I add.", usage=Usage(5, 2)),
        ev.ToolStarted(ADD, 1),
        ev.ToolDone("c1", "add", 1, "3", elapsed=0.5),
        ev.AnswerStarted("loop"),
        ev.AnswerDone("Three.", "loop"),
        ev.RunFinished("answer", "Three."),
    )
    assert states(found, it.Thought) == ["open", "done"]
    assert states(found, it.Call) == ["waiting", "running", "done"]
    assert states(found, it.Answer) == ["open", "final"]
    assert states(found, it.Status)[-1] == "finished"
    cost = next(change.item for change in found if isinstance(change, it.Put) and isinstance(change.item, it.Cost))
    assert cost.total_tokens == 7
    end = found[-2] if isinstance(found[-2], it.Put) and isinstance(found[-2].item, it.End) else found[-1]
    assert isinstance(end, it.Put)
    assert end.item == it.End("end", "answer", True, False, "Three.", "", "", "", 1, 7.0)


def test_item_before_a_change():
    view = RunView()
    changes(ev.ThinkDone("loop", 1, AssistantMessage(calls=(ADD,))), ev.ToolStarted(ADD, 1), view=view)
    done = next(change for change in view.feed(ev.Record("r", 9, 0.0, ev.ToolDone("c1", "add", 1, "3"))))
    assert isinstance(done, it.Put)
    assert isinstance(done.before, it.Call)
    assert (done.before.state, done.item.content) == ("running", "3")  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("error", "state"),
    [("", "done"), ("exception", "failed"), ("denied", "refused"), ("rejected", "refused"), ("cancelled", "cancelled")],
)
def test_states_of_a_call(error: str, state: str):
    view = RunView()
    changes(ev.ToolDone("c1", "add", 1, "x", error), view=view)
    assert view.call("c1") is not None
    assert view.items["call:c1"].state == state  # pyright: ignore[reportAttributeAccessIssue]


def test_calls_under_way_when_the_run_ends():
    found = changes(ev.ToolStarted(ADD, 1), ev.ThinkStarted("loop", 2), ev.RunFinished("cancelled", success=False))
    assert states(found, it.Call)[-1] == "cancelled"
    assert states(found, it.Thought)[-1] == "void"


def test_approval():
    view = RunView()
    found = changes(
        ev.ThinkDone("loop", 1, AssistantMessage(calls=(ADD, ECHO))),
        ev.Paused("approval of add", (ADD, ECHO), {"c2": "it writes"}),
        ev.Approved("c1", True, "me", args={"a": 2}),
        view=view,
    )
    assert states(found, it.Call) == ["waiting", "waiting", "asked", "asked", "waiting"]
    asked = view.call("c2")
    assert asked is not None
    assert (asked.state, asked.why) == ("asked", "it writes")
    assert view.status.state == "paused"
    assert view.items["2"] == it.Decision("2", "c1", "add", "allowed", "me", args={"a": 2})
    changes(ev.Resumed("paused"), ev.ToolStarted(ToolCall("c1", "add", {"a": 2}), 1), view=view)
    call = view.call("c1")
    assert call is not None
    assert (call.args, call.proposed) == ({"a": 2}, {"a": 1})
    assert view.status.state == "working"


def test_result_from_outside():
    view = RunView()
    asked = msgspec.structs.replace(ADD, external=True)
    changes(ev.ThinkDone("loop", 1, AssistantMessage(calls=(ADD,))), ev.Paused("result of add", (asked,)), view=view)
    changes(ev.Approved("c1", True), view=view)
    assert view.call("c1").state == "asked"  # pyright: ignore[reportOptionalMemberAccess] - allowed, still without result
    changes(ev.ToolAnswered("c1", "3", by="me", tool="add"), view=view)
    assert view.call("c1").state == "waiting"  # pyright: ignore[reportOptionalMemberAccess]


def test_draft_that_is_retracted():
    view = RunView()
    found = changes(ev.ThinkStarted("loop", 1), ev.AnswerDelta("Let me", True), ev.AnswerDelta(" see", True), view=view)
    assert states(found, it.Answer) == ["draft"]
    assert view.written("answer") == "Let me see"
    assert [change.text for change in found if isinstance(change, it.More)] == ["Let me", " see"]
    found = changes(ev.AnswerRetracted("Let me see"), view=view)
    assert found == [
        it.Put(it.Answer("answer", "retracted", "Let me see"), it.Answer("answer", "draft")),
    ]
    assert "answer" not in view.items


def test_draft_that_is_confirmed():
    view = RunView()
    found = changes(
        ev.ThinkStarted("loop", 1),
        ev.AnswerDelta("It is 3.", True),
        ev.ThinkDone("loop", 1, AssistantMessage("It is 3."), answer="It is 3."),
        ev.AnswerStarted("loop"),
        view=view,
    )
    assert states(found, it.Answer) == ["draft", "open"]
    assert view.answer == it.Answer("answer", "open", "It is 3.", "loop")


def test_answer_that_begins_anew():
    view = RunView()
    found = changes(
        ev.AnswerStarted("synthesis"),
        ev.ThinkStarted("synthesis", 1),
        ev.AnswerDelta("Thr"),
        ev.ThinkFailed("synthesis", 1, 1, "dropped", 0.1),
        ev.Reset("synthesis", 2),
        ev.AnswerDelta("3"),
        view=view,
    )
    assert states(found, it.Answer) == ["open", "void", "open"]
    assert view.written("answer") == "3"


def test_output_before_the_call_has_an_id():
    view = RunView()
    changes(ev.ToolOutput("", "add", "early "), ev.ToolStarted(ADD, 1), ev.ToolOutput("c1", "add", "late"), view=view)
    assert [call.output for call in view.running()] == ["early late"]


def test_background_work():
    start = ToolCall("c1", "start_helper", {"task": "x"})
    view = RunView()
    done = ev.ToolDone("c1", "start_helper", 1, "helper works on it in the background as c1.")
    changes(ev.ToolStarted(start, 1), done, view=view)
    assert view.call("c1").work == "running"  # pyright: ignore[reportOptionalMemberAccess]
    changes(ev.PhaseChanged("background c1: helper has failed: gone"), view=view)
    assert view.call("c1").work == "failed"  # pyright: ignore[reportOptionalMemberAccess]


def test_hand_over():
    view = RunView()
    passing = ToolCall("c1", "transfer_to_billing", {"reason": "an invoice"})
    changes(ev.ToolStarted(passing, 1), ev.PhaseChanged("handed over to billing: an invoice"), view=view)
    assert view.status.speaker == "billing"
    assert view.call("c1").has_run  # pyright: ignore[reportOptionalMemberAccess]
    changes(ev.ToolDone("c1", "transfer_to_billing", 1, "no", "exception"), view=view)
    assert view.status.speaker == ""


def test_every_stored_event_is_drawn_or_left_out_on_purpose():
    drawn = {event.__name__ for event, handlers in _HANDLERS.items() if handlers}
    left_out = {"LoopStarted", "Forked", "Tainted", "Noted", "ChildSpent", "ReplyConstrained"}
    left_out |= {"Exchanged", "HistoryReplaced", "OutputPartial", "AnswerPartial"}
    assert {event.__name__ for event in ev.Event.__args__} - drawn == left_out


def test_constant_work_per_record():
    """A change comes from its record alone: the ten-thousandth call changes no more than the first."""
    view = RunView()
    sizes: list[int] = []
    for number in range(2_000):
        call = ToolCall(f"c{number}", "add")
        events = (
            ev.ThinkDone("loop", 1, AssistantMessage(calls=(call,))), ev.ToolStarted(call, 1),
            ev.ToolDone(call.id, "add", 1, "3"),
        )  # fmt: skip
        sizes.append(sum(len(view.feed(ev.Record("r", number, 0.0, event))) for event in events))
    assert len(set(sizes[1:])) == 1


@settings(max_examples=75, deadline=None)
@given(st.lists(values_of(ev.Event), max_size=12))
def test_any_events_in_any_order(events: list[Any]):
    view = RunView()
    for change in changes(*events, view=view):
        assert msgspec.json.encode(change)
    decoded = msgspec.json.decode(msgspec.json.encode(list(view.items.values())), type=list[it.Item])
    assert [item.id for item in decoded] == list(view.items)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    script=st.lists(reply, max_size=8), dialect=dialects, acts=actions, answer=st.sampled_from(["direct", "synthesize"])
)
def test_live_items_are_the_stored_ones(script: list[Any], dialect: str, acts: list[tuple[int, str]], answer: str):
    native = dialect in ("auto", "native")
    model = ScriptedModel([*script, "the end"], repeat_last=True, abilities={} if native else TEXT)
    live, from_log = RunView(), RunView()

    async def main() -> None:
        agent = Agent(
            model, TOOLS, dialect=dialect, max_iterations=BOUND, retry=RetryPolicy(attempts=3, base=0.0),
            answer=answer, stream_thoughts=True,
        )  # fmt: skip
        run = agent.start("question")
        requests = 0

        def watch(record: ev.Record) -> None:
            nonlocal requests
            live.feed(record)
            if record.offset:
                return
            from_log.feed(record)
            assert stored(live) == stored(from_log)
            if isinstance(record.event, ev.ThinkStarted):
                requests += 1
                for at, what in acts:
                    if at == requests:
                        run.send("one more thing") if what == "send" else run.cancel()

        failures: list[BaseException] = []

        def sink(record: ev.Record) -> None:
            try:
                watch(record)
            except BaseException as error:  # the run would only log it
                failures.append(error)

        run.subscribe(sink)
        with suppress(TreadleError):
            await run
        if failures:
            raise failures[0]

    go(main())
    assert isinstance(list(live.items.values())[-1], it.Status | it.End)


async def test_logs_of_an_earlier_version(tmp_path: Path):
    file = shutil.copy(DATA / "journal_0_1" / "journal.db", tmp_path / "journal.db")
    journal = open_journal(file)
    try:
        infos = await journal.list(parent=None, limit=1000)
        assert infos
        for info in infos:
            view = view_of(await journal.load(info.run_id))
            items = list(view.items.values())
            own = {step.call_id for step in view.state.steps if ":" not in step.call_id}
            assert {item.call_id for item in items if isinstance(item, it.Call) and item.ended} >= own
            assert ("end" in view.items) == (view.state.finished is not None)
    finally:
        await journal.aclose()


def test_recorded_plan():
    run, logs = read_export(EXAMPLE.read_bytes())
    view = view_of(logs[run])
    steps = [item for item in view.items.values() if isinstance(item, it.PlanStep)]
    assert steps
    assert all(step.state in ("completed", "failed", "skipped", "reused") and step.task for step in steps)
    assert view.answer is not None
    assert view.answer.state == "final"


def test_a_run_that_nobody_watches_folds_no_view():
    program = """
import sys
from treadle import Agent, ScriptedModel
assert Agent(ScriptedModel(["Hello."]), tools=None).run_sync("Hi").answer == "Hello."
assert "treadle._view.fold" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_reply_that_could_not_be_read_has_no_words_for_a_reader():
    view = RunView()
    unread = ev.ThinkDone("loop", 1, AssistantMessage("prose"), thought=ev.UNREADABLE, problem="no JSON")
    changes(ev.ThinkStarted("loop", 1), unread, view=view)
    (thought,) = [item for item in view.items.values() if isinstance(item, it.Thought)]
    assert (thought.unread, thought.words, thought.problem) == (True, "", "no JSON")
