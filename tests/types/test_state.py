"""The fold: what a run's records mean together."""

from __future__ import annotations

from typing import Any

import pytest

from kit import assert_paired
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, ImagePart, Message, TextPart, ToolCall, ToolMessage, UserMessage
from treadle._types.profile import Profile
from treadle._types.request import ToolSchema
from treadle._types.state import RunState, fold
from treadle._types.usage import Usage

ADD = ToolCall("c1", "add", {"a": 1})
ECHO = ToolCall("c2", "echo", {"text": "x"})


def state_of(*events: Any, start: bool = True) -> RunState:
    first = (ev.RunStarted("q"),) if start else ()
    return fold(ev.Record("run", seq, 100.0 + seq, event) for seq, event in enumerate((*first, *events)))


def reply(*calls: ToolCall, text: str = "", answer: str | None = None, iteration: int = 1, **more: Any) -> ev.ThinkDone:
    return ev.ThinkDone("loop", iteration, AssistantMessage(text, calls), answer=answer, **more)


def done(call: ToolCall, content: Any = "ok", **more: Any) -> ev.ToolDone:
    return ev.ToolDone(call.id, call.name, 1, content, **more)


def window(state: RunState) -> list[Message]:
    return [entry.message for entry in state.conversation.window]


def shown(state: RunState) -> list[str]:
    """The window in short: role and text."""
    return [
        f"{type(m).__name__.removesuffix('Message').lower()}: {getattr(m, 'content', None) or getattr(m, 'text', '')}"
        for m in window(state)
    ]


# ---- the start


def test_nothing_folds_to_a_run_that_has_not_begun():
    state = fold([])
    assert (state.seq, state.question, state.started, state.messages()) == (-1, "", None, [])
    assert not state.answer.pending
    assert state.calls.pending() == []


def test_a_run_starts_with_its_history_and_then_the_question():
    history = (UserMessage("hi", kind="history"), AssistantMessage("hello"))
    state = state_of(ev.RunStarted("and now?", model="m", dialect="json", history=history), start=False)
    assert window(state) == [*history, UserMessage("and now?", pinned=True)]
    assert [entry.component for entry in state.conversation.window] == ["history", "history", "question"]
    assert (state.question, state.model, state.dialect, state.created) == ("and now?", "m", "json", 100.0)


def test_every_message_of_the_history_can_be_addressed():
    history = (UserMessage("a"), AssistantMessage("b"), UserMessage("c"))
    state = state_of(ev.RunStarted("q", history=history), ev.ContextCompacted(covers=(-3,)), start=False)
    assert len({entry.seq for entry in state.conversation.window}) == len(state.conversation.window)
    assert shown(state) == ["user: a", "user: c", "user: q"]


# ---- replies and calls


def test_an_unreadable_reply_is_counted_until_one_can_be_read():
    state = state_of(reply(text="{", problem="no JSON"), reply(text="{{", problem="no JSON", answer="{{"))
    assert (state.turn.problem, state.turn.parse_failures, state.answer.candidate) == ("no JSON", 2, None)
    state = state_of(reply(problem="no JSON"), reply(answer="fine"))
    assert (state.turn.problem, state.turn.parse_failures) == ("", 0)


def test_results_are_shown_when_all_calls_have_ended_in_the_order_of_the_calls():
    first = (reply(ADD, ECHO), ev.ToolStarted(ECHO, 1), ev.ToolStarted(ADD, 1), done(ECHO, "x"))
    state = state_of(*first)
    assert [call.call for call in state.calls.pending()] == [ADD]
    assert len(window(state)) == 2
    assert not state.turn.round_due
    state = state_of(*first, done(ADD, "3"))
    assert window(state)[2:] == [
        ToolMessage("c1", "add", "3", origin="tool"),
        ToolMessage("c2", "echo", "x", origin="tool"),
    ]
    assert [step.tool for step in state.steps] == ["add", "echo"]
    assert state.calls.open == {}
    assert state.turn.round_due
    assert not state_of(*first, done(ADD, "3"), ev.ThinkStarted("loop", 2)).turn.round_due


def test_a_started_call_knows_what_may_be_done_about_it_after_a_crash():
    state = state_of(reply(ADD, ECHO), ev.ToolStarted(ECHO, 1, effect="pure"))
    add, echo = state.calls.pending()
    assert (add.started, add.effect) == (False, "unsafe")
    assert (echo.started, echo.effect) == (True, "pure")


def test_a_second_result_of_the_same_call_and_one_of_an_unknown_call_change_nothing():
    once = state_of(reply(ADD, ECHO), done(ADD, "3", usage=Usage(cost=1.0)))
    again = state_of(
        reply(ADD, ECHO), done(ADD, "3", usage=Usage(cost=1.0)), done(ADD, "4"), ev.ToolDone("zz", "f", 1, "?")
    )
    assert again.calls.open["c1"].done == once.calls.open["c1"].done
    assert (again.usage, again.spending.counters) == (once.usage, once.spending.counters)


def test_a_step_tells_what_was_called_why_and_what_came_of_it():
    artifact = ev.Artifact("chart.svg", "<svg/>")
    state = state_of(
        reply(ADD, thought="sum them"),
        done(ADD, (TextPart("3"), ImagePart(url="u")), elapsed=0.5, artifacts=(artifact,)),
    )
    (step,) = state.steps
    assert (step.tool, step.args, step.thought, step.elapsed) == ("add", {"a": 1}, "sum them", 0.5)
    assert (step.observation, step.artifacts) == ("3\n[image]", (artifact,))


def test_calls_are_counted_as_made_failed_cut_and_executed():
    state = state_of(
        reply(ADD, ECHO), done(ADD, "refused", error="denied", executed=False), done(ECHO, "cut", full="the whole text")
    )  # what a person refuses has not failed
    assert (
        state.spending.counters.tool_calls,
        state.spending.counters.failed_calls,
        state.spending.counters.truncated_observations,
    ) == (2, 0, 1)
    assert state.usage.tool_calls == 1


def test_rounds_with_a_failed_call_are_counted_until_one_is_fine():
    bad = (reply(ADD), done(ADD, "no", error="boom"))
    assert state_of(*bad, *bad).calls.tool_failures == 2
    assert state_of(*bad, *bad, reply(ADD), done(ADD)).calls.tool_failures == 0


def test_the_first_final_result_ends_the_run():
    state = state_of(reply(ADD, ECHO), done(ADD, "the end", final=True), done(ECHO, "later", final=True))
    assert state.answer.final_call is not None
    assert (state.answer.final_call.content, state.answer.pending) == ("the end", True)


def test_extras_wait_for_the_next_call_and_are_lost_with_it():
    one = (reply(ADD), ev.ToolStarted(ADD, 1), done(ADD, had_extras=True))
    assert state_of(*one).calls.extras_pending
    assert state_of(*one, reply(ECHO), ev.ToolStarted(ECHO, 2)).calls.extras_pending
    assert not state_of(*one, reply(ECHO), ev.ToolStarted(ECHO, 2), done(ECHO)).calls.extras_pending
    assert state_of(*one, reply(ECHO), ev.ToolStarted(ECHO, 2), done(ECHO, error="exception")).calls.extras_pending
    assert state_of(*one, reply(ECHO), done(ECHO, error="unknown_tool", executed=False)).calls.extras_pending
    assert not state_of(*one, reply(ECHO), done(ECHO, error="lost_extras")).calls.extras_pending


@pytest.mark.parametrize(("finish", "count"), [("length", 1), ("stop", 0)])
def test_replies_that_were_cut_are_counted(finish: str, count: int):
    assert state_of(reply(text="x", finish=finish)).spending.counters.truncated_responses == count


def test_a_reply_says_whether_the_task_was_done_and_later_silence_does_not_unsay_it():
    assert state_of(reply(answer="x", task_successful=False), reply(answer="y")).answer.task_successful is False
    assert state_of(reply(answer="x")).answer.task_successful is None


# ---- messages that arrive


def test_a_message_after_a_proposed_answer_takes_it_back():
    state = state_of(reply(answer="42", text="42"), ev.MessageAdded(UserMessage("sure?", kind="note"), "guard"))
    assert state.answer.candidate is None
    assert shown(state) == ["user: q", "assistant: 42", "user: sure?"]


def test_a_message_while_calls_are_open_follows_their_results():
    state = state_of(reply(ADD), ev.MessageAdded(UserMessage("hurry")), ev.Injected(("m1",), ("and in euros?",)))
    assert len(window(state)) == 2
    state = state_of(
        reply(ADD), ev.MessageAdded(UserMessage("hurry")), ev.Injected(("m1",), ("and in euros?",)), done(ADD, "3")
    )
    assert shown(state)[2:] == ["tool: 3", "user: hurry", "user: [USER INTERRUPT]\nand in euros?"]
    assert_paired(window(state))
    assert state.conversation.waiting == []


def test_an_interrupt_joins_what_was_said_and_is_never_read_twice():
    state = state_of(ev.Injected(("m1", "m2"), ("one", "two")))
    message = window(state)[-1]
    assert message == UserMessage("[USER INTERRUPT]\none\n\ntwo", kind="interrupt", pinned=True)
    assert (state.read_ids, state.spending.counters.interrupts) == ({"m1", "m2"}, 1)


@pytest.mark.parametrize(
    ("before", "extra"),
    [
        ((reply(answer="42"),), 1),
        ((reply(ADD), done(ADD, "end", final=True)), 1),
        ((), 0),
        ((reply(problem="no JSON"),), 0),
    ],
    ids=["answer", "final tool", "nothing", "unreadable"],
)
def test_an_interrupt_of_a_finished_answer_earns_another_iteration(before: tuple[Any, ...], extra: int):
    state = state_of(*before, ev.Injected(("m1",), ("wait",)))
    assert (state.turn.extra_iterations, state.answer.pending, state.turn.problem) == (extra, False, "")


# ---- components beside the conversation


def test_advice_is_not_part_of_the_conversation():
    advice = ev.ThinkDone(
        "observer", 1, AssistantMessage("looks fine"), usage=Usage(requests=1), digest="d", elapsed=2.0
    )
    state = state_of(advice, ev.ThinkFailed("observer", 1, 1, "busy", usage=Usage(requests=1)))
    assert shown(state) == ["user: q"]
    assert state.turn.replies == {("observer", "d"): [advice]}
    spent = state.spending.components["observer"]
    assert (spent.calls, spent.usage.requests, spent.elapsed) == (1, 2, 2.0)
    assert (state.usage.requests, state.spending.counters.attempts_failed) == (2, 1)


def test_advice_is_remembered_for_its_round_only():
    advice = ev.ThinkDone("observer", 1, AssistantMessage("fine"), digest="d")
    assert state_of(advice, ev.ThinkStarted("loop", 1)).turn.replies == {}
    assert state_of(advice, reply(answer="x")).turn.replies == {}
    assert state_of(advice, ev.ThinkStarted("planner", 1)).turn.replies != {}


@pytest.mark.parametrize("record", [ev.DagModeChosen("dag"), ev.DagPlanned(1, ()), ev.DagJudged(1)])
def test_advice_that_a_plan_has_made_use_of_is_not_remembered(record: Any):
    advice = ev.ThinkDone("analyzer", 1, AssistantMessage("not yet"), digest="d")
    assert state_of(advice, ev.DagPlanning(), ev.StepDone("a", "completed")).turn.replies != {}
    assert state_of(advice, record).turn.replies == {}


# ---- what leaves the window


def test_a_retracted_message_leaves_the_window_and_stays_in_the_transcript():
    state = state_of(reply(text="42", answer="42"), ev.MessageRetracted(1, "guard", "no source"))
    assert shown(state) == ["user: q"]
    assert AssistantMessage("42") in state.messages()
    assert state.conversation.breaks == [(2, "message retracted: no source")]
    assert (state.spending.counters.compactions, state.spending.counters.trims) == (0, 0)


def test_the_question_cannot_be_retracted():
    assert shown(state_of(ev.MessageRetracted(0, "guard"))) == ["user: q"]


def two_rounds() -> tuple[Any, ...]:
    return reply(ADD), done(ADD, "3"), reply(ECHO, iteration=2), done(ECHO, "x")


def test_a_summary_stands_where_the_first_covered_message_stood():
    state = state_of(*two_rounds(), ev.ContextCompacted(covers=(1, 2), summary="added: 3"))
    assert window(state)[:2] == [UserMessage("q", pinned=True), UserMessage("added: 3", kind="summary")]
    assert [entry.seq for entry in state.conversation.window] == [0, 5, 3, 4]
    assert_paired(window(state))
    assert len(state.messages()) == 5
    assert (state.spending.counters.compactions, state.conversation.epoch) == (1, 1)


def test_the_question_is_never_covered():
    state = state_of(*two_rounds(), ev.ContextCompacted(covers=(0, 1, 2, 3, 4), summary="all of it"))
    assert shown(state) == ["user: q", "user: all of it"]


def test_a_summary_of_nothing_that_is_there_is_not_shown():
    assert "user: s" not in shown(state_of(*two_rounds(), ev.ContextCompacted(covers=(99,), summary="s")))


def test_a_summary_can_be_covered_by_the_next_one():
    state = state_of(
        *two_rounds(),
        ev.ContextCompacted(covers=(1, 2), summary="one"),
        ev.ContextCompacted(covers=(5, 3, 4), summary="both"),
    )
    assert shown(state) == ["user: q", "user: both"]


def test_dropping_without_a_summary_is_a_trim():
    state = state_of(*two_rounds(), ev.ContextCompacted(covers=(1, 2), reason="trim"))
    assert (state.spending.counters.trims, state.spending.counters.compactions) == (1, 0)
    assert shown(state)[0] == "user: q"
    assert state.conversation.breaks == [(5, "context trim")]


def test_single_messages_can_be_shortened_but_never_what_the_model_said():
    state = state_of(*two_rounds(), ev.ContextCompacted(replaced={0: "q!", 2: "3...", 1: "hidden"}))
    assert shown(state)[:3] == ["user: q!", "assistant: ", "tool: 3..."]
    assert state.messages()[2] == ToolMessage("c1", "add", "3", origin="tool")


def test_an_interrupt_can_be_unpinned_the_question_cannot():
    state = state_of(ev.Injected(("m1",), ("wait",)), ev.ContextCompacted(unpinned=(0, 1)))
    assert [message.pinned for message in window(state)] == [True, False]  # type: ignore[union-attr]


# ---- declared changes


def test_what_changes_the_prefix_is_declared():
    tools = (ToolSchema("add", "", {}),)
    state = state_of(
        ev.ToolsChanged(tools, "selected"),
        ev.ModelSwitched("big", "small", "overloaded", Profile(window=5)),
        ev.DialectDemoted("json", "native", "no calls"),
    )
    assert (state.tools, state.model, state.dialect, state.profile.window) == (tools, "big", "json", 5)
    assert [why for _, why in state.conversation.breaks] == [
        "tools changed: selected",
        "model switched to big",
        "dialect demoted to json",
    ]
    assert state.conversation.epoch == 3


def test_a_switch_that_knows_nothing_of_the_new_model_keeps_the_old_facts():
    first = ev.RunStarted("q", profile=Profile(window=9))
    assert state_of(first, ev.ModelSwitched("b", "a", "r"), start=False).profile.window == 9


def test_the_names_of_the_tools_follow_their_changes():
    state = state_of(ev.RunStarted("q", tools=(ToolSchema("a", "", {}),)), start=False)
    assert state.tool_names() == {"a"}
    assert state.tool_names() is state.tool_names()
    state.apply(ev.Record("run", 1, 0.0, ev.ToolsChanged((ToolSchema("b", "", {}), ToolSchema("c", "", {})))))
    assert state.tool_names() == {"b", "c"}


# ---- pauses, notes, plans, the end


def test_the_latest_decision_about_a_call_counts():
    state = state_of(ev.Approved("c1", False), ev.Approved("c1", True, by="ann"), ev.Approved("c2", False))
    assert (state.calls.approvals["c1"].allow, state.calls.approvals["c1"].by, state.calls.approvals["c2"].allow) == (
        True,
        "ann",
        False,
    )


# ---- DAG runs


def test_a_dag_run_is_planned_worked_and_judged():
    plan = ev.DagPlanned(1, (ev.PlannedStep("a", "do a"),))
    state = state_of(ev.DagModeChosen("dag"), ev.DagPlanning())
    assert (state.dag.mode, state.dag.planning, state.dag.plan) == ("dag", True, None)
    state = state_of(ev.DagPlanning(), plan)
    assert (state.dag.plan, state.dag.planning, state.dag.judged) == (plan, False, False)
    judged = state_of(ev.DagPlanning(), plan, ev.DagJudged(1, True, 0.9, "42"))
    assert (judged.dag.judged, [v.final_answer for v in judged.dag.verdicts]) == (True, ["42"])
    again = state_of(ev.DagPlanning(), plan, ev.DagJudged(1), ev.DagPlanning(), ev.DagPlanned(2, ()))
    assert (again.dag.judged, len(again.dag.verdicts)) == (False, 1)


def test_steps_are_kept_by_their_work_and_their_cost_is_the_runs():
    state = state_of(
        ev.StepDone("a", "failed", usage=Usage(requests=1)),
        ev.StepDone("a", "completed", "r", key="k1", usage=Usage(requests=2)),
        ev.StepDone("a", "completed", "again", key="k1", round=2),
    )
    assert {key: step.status for key, step in state.dag.steps.items()} == {"a": "failed", "k1": "completed"}
    assert (state.dag.steps["k1"].result, state.usage.requests) == ("again", 3)


def test_a_clock_that_is_set_back_takes_nothing_from_a_duration():
    times = (1000.0, 1004.0, 10.0, 13.0)
    state = fold(
        ev.Record("run", seq, time, ev.RunStarted("q") if not seq else ev.LoopStarted())
        for seq, time in enumerate(times)
    )
    assert state.elapsed == 7.0
    assert state_of(reply(ADD)).elapsed == 1.0


def test_the_time_in_which_nobody_works_on_a_run_is_not_counted():
    events = (ev.RunStarted("q"), ev.LoopStarted(), ev.Paused("approval"), ev.Approved("c", True), ev.Resumed())
    later = (ev.LoopStarted(), ev.Forked("other", 5), ev.LoopStarted())
    times = (0.0, 1.0, 2.0, 1000.0, 1001.0, 1002.0, 9000.0, 9001.0)
    records = map(ev.Record, ["run"] * 8, range(8), times, events + later)
    assert fold(records).elapsed == 4.0


# ---- runs that were recorded from another program


def test_a_replaced_history_is_the_new_window_and_a_break():
    call = ToolCall("c1", "price")
    happened = [
        ev.RunStarted("q", system="old"),
        ev.ThinkStarted("loop", 1),
        ev.ThinkDone("loop", 1, AssistantMessage(calls=(call,))),
        ev.HistoryReplaced(1, (AssistantMessage("called"), UserMessage("result")), "new", "rewritten"),
    ]
    state = state_of(*happened, start=False)
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
    state = state_of(*happened, start=False)
    assert state.turn.extra_iterations == 3
