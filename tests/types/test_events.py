"""Events and records: what a journal may hold, and what it never holds."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings

from strategies import values_of
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, ToolCall

EVENTS: list[Any] = list(get_args(ev.Event))
STORED_TAGS = set(
    """
    run_started loop_started phase reply_constrained answer_only message_retracted
    tool_selection_started think_started think_failed think_done message_added tool_started
    tool_done injected tools_changed context_compacted plan_changed observed reflected
    model_switched dialect_demoted answer_started answer_done paused resumed approved tainted forked noted
    provider_tools_used tool_answered
    dag_mode_chosen dag_planning dag_planned dag_judged step_started step_done reply_capped child_spent run_finished
    exchanged history_replaced answer_partial workspace_opened tree_saved intent_set permitted
    """.split()
)
"""What is in journals on disks. A tag that goes or changes its shape needs a new SCHEMA and an upcaster."""


def test_every_event_is_a_value_with_a_tag_of_its_own():
    configs = [kind.__struct_config__ for kind in EVENTS]
    assert len({config.tag for config in configs}) == len(configs)
    assert all(config.tag_field == "type" and config.frozen and config.omit_defaults for config in configs)


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_every_event_survives_the_journals_encoding(kind: type[Any]):
    @settings(max_examples=8)
    @given(values_of(kind))
    def check(event: ev.Event) -> None:
        again = ev.decode_event(ev.encode_event(event))
        assert type(again) is kind
        assert again == event
        assert ev.encode_event(again) == ev.encode_event(event)

    check()


def test_every_tag_that_was_ever_stored_can_be_read():
    tags = {kind.__struct_config__.tag for kind in EVENTS}
    assert tags >= STORED_TAGS
    assert tags - STORED_TAGS == {kind.__struct_config__.tag for kind in ev.TRANSIENT}


@pytest.mark.parametrize(
    ("event", "stored"),
    [
        (ev.RunStarted("q"), b'{"type":"run_started","question":"q"}'),
        (
            ev.ThinkDone("loop", 1, AssistantMessage(calls=(ToolCall("c1", "add", {"a": 1}),)), finish="calls"),
            b'{"type":"think_done","component":"loop","iteration":1,'
            b'"message":{"role":"assistant","calls":[{"id":"c1","name":"add","args":{"a":1}}]},"finish":"calls"}',
        ),
        (
            ev.ToolDone("c1", "add", 1, "3"),
            b'{"type":"tool_done","call_id":"c1","name":"add","iteration":1,"content":"3"}',
        ),
        (
            ev.ContextCompacted(covers=(3, 4), summary="s", replaced={7: "short"}),
            b'{"type":"context_compacted","covers":[3,4],"summary":"s","replaced":{"7":"short"}}',
        ),
        (
            ev.ReplyConstrained("insist", must_act=True),
            b'{"type":"reply_constrained","component":"insist","must_act":true}',
        ),
        (ev.MessageRetracted(4, "guard"), b'{"type":"message_retracted","seq":4,"component":"guard"}'),
        (
            ev.DagPlanned(2, (ev.PlannedStep("a", "find it"), ev.PlannedStep("b", "sum up", ("a",))), ("cut",), 1),
            b'{"type":"dag_planned","round":2,"steps":[{"id":"a","task":"find it"},'
            b'{"id":"b","task":"sum up","dependencies":["a"]}],"notes":["cut"],"free_replans":1}',
        ),
        (
            ev.Exchanged(1, "openai.chat", 200, sent=5),
            b'{"type":"exchanged","iteration":1,"protocol":"openai.chat","status":200,"sent":5}',
        ),
    ],
    ids=["started", "thought", "tool", "compacted", "constrained", "retracted", "planned", "exchanged"],
)
def test_the_stored_shape(event: ev.Event, stored: bytes):
    assert ev.encode_event(event) == stored
    assert ev.decode_event(stored) == event
    assert ev.decode_event(stored.decode()) == event


def test_fields_of_a_newer_minor_version_are_ignored():
    assert ev.decode_event(b'{"type":"answer_only","reason":"limit","added_later":[1,2]}') == ev.AnswerOnly("limit")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"type":"no_such_event"}', "Invalid value 'no_such_event'"),
        (b'{"reason":"limit"}', "missing required field `type`"),
        (b'{"type":"answer_only"}', "missing required field `reason`"),
        (b'{"type":"tool_done","call_id":1,"name":"f","iteration":1,"content":""}', "call_id"),
        (b"[]", "Expected `object`"),
    ],
    ids=["unknown", "no tag", "a field missing", "wrong type", "no object"],
)
def test_what_is_no_event_is_refused(data: bytes, message: str):
    with pytest.raises(msgspec.ValidationError, match=message):
        ev.decode_event(data)


def test_half_a_line_is_refused():
    with pytest.raises(msgspec.DecodeError):
        ev.decode_event(b'{"type":"answer_only","rea')


def test_the_id_of_a_shown_piece_lies_within_its_record():
    assert ev.Record("r", 7, 0.0, ev.AnswerOnly("x")).id == "7"
    assert ev.Record("r", 7, 0.0, ev.AnswerDelta("x"), offset=3).id == "7.3"


def test_a_run_says_which_version_of_the_shapes_it_was_written_in():
    assert ev.RunStarted("q").schema == ev.SCHEMA
    old: Any = ev.decode_event(b'{"type":"run_started","question":"q","schema":1}')
    assert old.schema == 1


def test_display_has_nothing_but_a_name():
    """Whatever a run depends on has a record of its own."""
    assert ev.PhaseChanged.__struct_fields__ == ("phase",)


def test_the_start_of_a_call_names_what_its_end_names():
    started = ev.ToolStarted(ToolCall("c1", "add", {"a": 1}), 1)
    assert (started.name, started.call_id, started.args) == ("add", "c1", {"a": 1})
