"""What constrains the next reply, retracts a message or marks a phase: the fold alone knows when it ends."""

from __future__ import annotations

import pytest

from treadle._types import events as ev
from treadle._types.messages import AssistantMessage, ToolCall
from treadle._types.request import Citation, ProviderCall
from treadle._types.state import RunState, fold
from treadle._types.state_values import UNCONSTRAINED, ReplyConstraint


def state_of(*events: ev.Event) -> RunState:
    return fold(ev.Record("r", seq, float(seq), event) for seq, event in enumerate((ev.RunStarted("q"), *events)))


def reply(*calls: ToolCall, answer: str | None = None) -> ev.ThinkDone:
    return ev.ThinkDone("loop", 1, AssistantMessage(answer or "", calls), answer=answer)


HELD = ev.ReplyConstrained("give_up_guard", True, ("echo",))


def test_a_constraint_lasts_until_the_next_reply_and_no_display_ends_it():
    for between in ([], [ev.PhaseChanged("thinking hard")], [ev.ToolSelectionStarted(3)], [ev.Noted("x")]):
        state = state_of(HELD, *between, ev.ThinkStarted("loop", 1))
        assert state.constraints.next == ReplyConstraint(True, frozenset({"echo"}))
    state = state_of(HELD, reply(answer="done"))
    assert state.constraints.next is UNCONSTRAINED
    assert state.constraints.last.must_act
    assert state.constraints.components == {"give_up_guard"}


def test_an_advisers_reply_does_not_end_it():
    advice = ev.ThinkDone("observer", 1, AssistantMessage("fine"))
    assert state_of(HELD, advice).constraints.next.must_act


def test_a_later_constraint_takes_the_place_of_the_earlier():
    state = state_of(HELD, ev.ReplyConstrained("loop_guard", barred=("add",)))
    assert state.constraints.next == ReplyConstraint(False, frozenset({"add"}))


def test_once_told_to_answer_a_run_stays_told():
    assert state_of(HELD, ev.AnswerOnly("in circles")).constraints.next is UNCONSTRAINED
    state = state_of(HELD, ev.AnswerOnly("in circles"), reply(ToolCall("c", "echo")), ev.PhaseChanged("x"))
    assert state.constraints.answer_only == "in circles"
    assert not state.constraints.next.must_act


@pytest.mark.parametrize(
    ("cited", "place"),
    [
        (Citation("https://example.org/a", "A page"), "example.org"),
        (Citation("https://vertexaisearch.example/grounding-api-redirect/x", "example.org"), "example.org"),
        (Citation("http://[broken", "A page"), "A page"),
        (Citation(title="A page", file="file-1"), "file-1"),
        (Citation("no-address"), "no-address"),
    ],
)
def test_what_a_provider_cites_is_named_by_its_place(cited: Citation, place: str):
    used = ev.ProviderToolsUsed("loop", 1, (ProviderCall("web_search"),), (cited, cited))
    assert used.sources == (place,)


def test_without_citations_the_tools_that_read_are_the_sources():
    calls = (ProviderCall("web_search"), ProviderCall("code_execution"), ProviderCall("web_search"))
    assert ev.ProviderToolsUsed("loop", 1, calls).sources == ("web_search (provider)",)


def test_a_decision_names_its_tool_as_other_events_do():
    assert ev.Approved("c1", True, tool="send_mail").name == "send_mail"


def test_what_a_caller_asks_for_lasts_until_it_has_a_call_of_its_own_tools():
    events = [
        ev.RunStarted("q", client_tools=("look", "listen")),
        ev.ReplyConstrained("client", True, ("listen",), until_call=True),
        reply(ToolCall("c", "add")),
        ev.ReplyConstrained("loop_guard", barred=("add",)),
    ]
    state = fold(ev.Record("r", seq, float(seq), event) for seq, event in enumerate(events))
    assert state.constraints.next == ReplyConstraint(True, frozenset({"add", "listen"}))
    assert state.constraints.refusal([]) == "no answer is wanted before a call of look"
    assert state.constraints.refusal(["listen"]) == "listen cannot be called now"
    assert state.constraints.refusal(["look"]) == state.constraints.refusal(["add"]) == ""
    state.apply(ev.Record("r", 4, 4.0, reply(ToolCall("d", "look"))))
    assert state.constraints.next is state.constraints.lasting is UNCONSTRAINED
