"""Journeys in Python, as a user writes it."""

from __future__ import annotations

import pytest

from treadle import Agent, Conversation, WrongValueError
from treadle.testing import ScriptedModel

from .conftest import clerk, secretary
from .walking import journey, step


@journey("A first question", on="Python")
def test_first_question():
    with step("an agent with tools is asked: the answer, and what it used"):
        result = clerk().run_sync("How high is the tower?")
        assert (result.answer, result.tools_used) == ("It is **330 m** high.", ["height"])


@journey("An agent without tools", on="Python")
def test_without_tools():
    with step("Agent(model) and nothing else answers"):
        assert Agent(ScriptedModel(["Hello."])).run_sync("Hi").answer == "Hello."


@journey("A conversation in which a later question needs an earlier one", on="Python")
def test_conversation():
    with step("two questions of one conversation: the second knows the first"):
        talk = Conversation(clerk(), "ann-1")
        talk.ask_sync("I am Ann.")
        assert talk.ask_sync("What is my name?").answer == "You are Ann."


@journey("A model by its address, asked three times", on="Python")
def test_model_by_address(model_server: str):
    with step("Agent(address) is asked three times"):
        agent = Agent(model_server)
        assert [agent.run_sync("Hi").answer for _ in range(3)] == ["Hello."] * 3


@journey("A call is approved, changed, refused", on="Python")
def test_approvals():
    with step("the run is paused with the call; it is refused, and goes on"):
        agent = clerk()
        paused = agent.run_sync("Write a mail")
        [call] = paused.pending
        ended = agent.resume_sync(paused.run_id, approve={call.call_id: {"allow": False}})
        assert ended.answer == "Not sent."


@journey("A wrong setting", on="Python")
def test_wrong_setting():
    with step("the error names the setting and what would do"):
        with pytest.raises(WrongValueError) as wrong:
            Agent(ScriptedModel([]), max_iterations="many")  # pyright: ignore[reportArgumentType]
        assert "max_iterations" in str(wrong.value)
        assert "int" in str(wrong.value)


@journey("All that a task leaves open is one question", on="Python")
def test_open_points():
    with step("the run is paused once, with both calls; one is allowed, the other refused"):
        agent = secretary()
        paused = agent.run_sync("Do what the list says")
        assert [one.args["to"] for one in paused.pending] == ["Ann", "Bob"]
        ann, bob = (one.call_id for one in paused.pending)
        ended = agent.resume_sync(paused.run_id, approve={ann: True, bob: False})
        assert (ended.stop_reason, ended.answer.partition("\n")[0]) == ("answer", "Written to: Ann.")
