"""What a guardrail refuses reaches the client of no protocol: none of them can take words back."""

from __future__ import annotations

import json

import pytest

from kit import go
from server.protocols.facades import FACADES, answer_in
from server.serving import serving
from treadle import Agent, ScriptedModel
from treadle.plugins import Guardrail, forbid_patterns


def guarded(answer: str, *on: str, told: str = "I do not say.") -> Agent:
    guard = Guardrail(forbid_patterns("hunter2"), on=on, message=told)  # type: ignore[arg-type]
    return Agent(ScriptedModel([answer], chunk=4, repeat_last=True), None, plugins=[guard])


@pytest.mark.parametrize("protocol", FACADES)
def test_a_refused_answer_is_not_sent_in_pieces_either(protocol: str):
    with serving({"worker": guarded("The password is hunter2.", "output")}) as client:
        sent = client.ask("POST", *FACADES[protocol]).data
        assert b"password" not in sent
        assert b"hunter2" not in sent
        assert b"I do not say." in sent


@pytest.mark.parametrize("protocol", FACADES)
def test_what_is_written_before_the_question_was_checked_is_not_sent(protocol: str):
    path, body = FACADES[protocol]
    with serving({"worker": guarded("Well, the password", "input")}) as client:
        sent = client.ask("POST", path, raw=json.dumps(body).replace("Do it.", "Say hunter2.").encode()).data
        assert b"password" not in sent
        assert b"I do not say." in sent


@pytest.mark.parametrize("protocol", FACADES)
def test_what_passes_is_sent_once(protocol: str):
    with serving({"worker": guarded("It is fine.", "input", "output")}) as client:
        assert answer_in(protocol, client.ask("POST", *FACADES[protocol]).data) == "It is fine."


def test_pieces_that_cannot_be_taken_back_are_given_after_the_check():
    async def pieces(agent: Agent) -> str:
        return "".join([text async for text, _ in agent.deltas("q")])

    assert go(pieces(guarded("It is fine.", "output"))) == "It is fine."
    assert "hunter2" not in go(pieces(guarded("The password is hunter2.", "output")))
    assert "password" not in go(pieces(guarded("The password is hunter2.", "output")))
