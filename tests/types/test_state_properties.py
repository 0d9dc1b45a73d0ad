"""The fold over random logs: what holds whatever happened, as long as the engine's own order was kept."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import assert_paired
from strategies import values_of
from treadle._types import events as ev
from treadle._types import state_parts
from treadle._types.messages import AssistantMessage, Message, ToolCall, UserMessage
from treadle._types.state import RunState, fold
from treadle._types.state_values import groups
from treadle._types.usage import Usage

spent = st.builds(Usage, input_tokens=st.integers(0, 9), requests=st.integers(0, 2))
actions = st.one_of(
    st.tuples(st.just("think"), st.integers(0, 3), spent),
    st.tuples(st.just("unreadable"), st.just(0), spent),
    st.tuples(st.just("advise"), st.just(0), spent),
    st.tuples(st.just("start"), st.integers(0, 2), spent),
    st.tuples(st.just("finish"), st.integers(0, 2), spent),
    st.tuples(st.just("fail"), st.integers(0, 2), spent),
    st.tuples(
        st.sampled_from(["add", "interrupt", "trim", "compact", "retract", "constrain", "phase"]),
        st.integers(0, 5),
        spent,
    ),
)


def log_of(script: list[tuple[str, int, Usage]]) -> list[ev.Record]:
    """The records of a run that does these things, each where an engine could do it; others are passed over."""
    state = RunState()
    records: list[ev.Record] = []

    def emit(event: ev.Event) -> None:
        record = ev.Record("run", len(records), float(len(records)), event)
        records.append(record)
        state.apply(record)

    emit(ev.RunStarted("the question", history=(UserMessage("before"), AssistantMessage("answered"))))
    for number, (what, choice, usage) in enumerate(script):
        for event in _events(state, number, what, choice, usage):
            emit(event)
    return records


def _events(state: RunState, number: int, what: str, choice: int, usage: Usage) -> list[ev.Event]:
    pending = state.calls.pending()
    units = [unit for unit in groups(state.conversation.window) if unit[0].component != "question"]
    unit = tuple(entry.seq for entry in units[choice % len(units)]) if units and not state.calls.open else ()
    match what:
        case "think" | "unreadable" if not state.calls.open:
            calls = tuple(ToolCall(f"c{number}.{index}", "f") for index in range(choice))
            text, problem = f"reply {number}", "no JSON" if what == "unreadable" else ""
            message = AssistantMessage(text, calls)
            answer = text if what == "think" and not calls else None
            return [ev.ThinkDone("loop", number, message, answer=answer, problem=problem, usage=usage)]
        case "advise":
            return [ev.ThinkDone("observer", number, AssistantMessage("hm"), usage=usage)]
        case "start" if pending:
            return [ev.ToolStarted(pending[choice % len(pending)].call, 1)]
        case "finish" | "fail" if pending:
            call = pending[choice % len(pending)].call
            return [
                ev.ToolDone(
                    call.id, call.name, 1, f"result {number}", error="boom" if what == "fail" else "", usage=usage
                )
            ]
        case "add":
            return [ev.MessageAdded(UserMessage(f"note {number}", kind="note"), "guard")]
        case "interrupt":
            return [ev.Injected((f"m{number}",), (f"interrupt {number}",))]
        case "trim" | "compact" if unit:
            return [
                ev.ContextCompacted(
                    unit, "summary" if what == "compact" else "", reason="trim" if what == "trim" else ""
                )
            ]
        case "retract" if len(unit) == 1:
            return [ev.MessageRetracted(unit[0], "guard")]
        case "constrain":
            return [ev.ReplyConstrained("guard", must_act=True)]
        case "phase":
            return [ev.PhaseChanged("thinking")]
        case _:
            return []


scripts = st.lists(actions, max_size=40)


@settings(max_examples=75, deadline=None)
@given(scripts)
def test_calls_and_results_stay_together_whatever_arrives_or_leaves(script: list[tuple[str, int, Usage]]):
    state = fold(log_of(script))
    unanswered = len(state.calls.open)
    for messages in ([entry.message for entry in state.conversation.window], state.messages()):
        if unanswered:
            assert isinstance(messages[-1], AssistantMessage)
            assert [call.id for call in messages[-1].calls] == list(state.calls.open)
            messages = messages[:-1]
        assert_paired(messages)
    assert not state.conversation.waiting or state.calls.open


@settings(max_examples=75, deadline=None)
@given(scripts)
def test_the_question_is_always_in_the_window_once(script: list[tuple[str, int, Usage]]):
    state = fold(log_of(script))
    assert [entry.message for entry in state.conversation.window if entry.component == "question"] == [
        UserMessage("the question", pinned=True)
    ]


@settings(max_examples=75, deadline=None)
@given(scripts)
def test_the_transcript_only_grows_and_replies_stay_in_order(script: list[tuple[str, int, Usage]]):
    state = RunState()
    before: list[Message] = []
    for record in log_of(script):
        state.apply(record)
        messages = state.messages()
        assert messages[: len(before)] == before
        before = messages
        replies = [entry.seq for entry in state.conversation.window if isinstance(entry.message, AssistantMessage)]
        assert replies == sorted(replies)


@settings(max_examples=75, deadline=None)
@given(scripts)
def test_every_token_is_counted_once(script: list[tuple[str, int, Usage]]):
    records = log_of(script)
    state = fold(records)
    used = [getattr(record.event, "usage", Usage()) for record in records]
    assert state.usage.input_tokens == sum(usage.input_tokens for usage in used)
    assert state.usage.requests == sum(usage.requests for usage in used)
    assert state.usage.tool_calls == state.spending.counters.tool_calls
    by_component = sum(one.usage.input_tokens for one in state.spending.components.values())
    by_tools = sum(record.event.usage.input_tokens for record in records if isinstance(record.event, ev.ToolDone))
    assert by_component + by_tools == state.usage.input_tokens


@settings(max_examples=75, deadline=None)
@given(scripts)
def test_prefix_breaks_are_declared_exactly_where_something_left(script: list[tuple[str, int, Usage]]):
    state = RunState()
    window: list[Message] = []
    for record in log_of(script):
        epoch = state.conversation.epoch
        state.apply(record)
        now = [entry.message for entry in state.conversation.window]
        if state.conversation.epoch == epoch:
            assert now[: len(window)] == window
        else:
            assert state.conversation.breaks[-1][0] == record.seq
        window = now


@settings(max_examples=100, deadline=None)
@given(scripts, st.integers(0, 40))
def test_a_log_that_was_stored_and_cut_folds_as_the_live_state_did(script: list[tuple[str, int, Usage]], at: int):
    records = log_of(script)[: at + 1]
    live = RunState()
    for record in records:
        live.apply(record)
    stored = [msgspec.json.decode(msgspec.json.encode(record), type=ev.Record) for record in records]
    assert facts(fold(stored)) == facts(live)


@settings(max_examples=40, deadline=None)
@given(st.lists(values_of(ev.Event), max_size=12))
def test_no_log_breaks_the_fold(events: list[ev.Event]):
    """Also one that no engine would write: whoever opens a damaged journal gets a state, not a traceback."""
    records = [ev.Record("run", seq, 0.0, event) for seq, event in enumerate(events)]
    state = fold(records)
    assert state.seq == len(records) - 1
    assert facts(fold(records)) == facts(state)


def facts(state: object) -> dict[str, Any]:
    return {
        name: facts(value) if type(value).__module__ == state_parts.__name__ else msgspec.to_builtins(value)
        for name, value in vars(state).items()
        if name not in ("_names", "_handlers", "replies")
    }
