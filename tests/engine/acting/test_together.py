"""What an intent leaves open is one question, whatever the order in which a model comes to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kit import call, go
from treadle import Agent, Approval, ScriptedModel, tool
from treadle._journal.memory import MemoryJournal
from treadle._types.acts import HELD
from treadle._types.errors import ConfigError
from treadle._types.messages import ToolCall

READ, ANN, BOB, LOG = call("todo"), call("mail", to="ann"), call("mail", to="bob"), call("note", text="done")
NOTED = {"tool": "note", "args": {"text": {"is": ["done"]}}}
MAILS = {"read": ["todo"], "act": [NOTED, {"tool": "mail", "max": 9, "ask": True}]}
ANY = {"read": ["todo"], "act": [NOTED, {"tool": "*", "ask": True}]}


def world(*replies: Any, **options: Any) -> tuple[Agent, list[str]]:
    done: list[str] = []

    @tool(untrusted=True, effect="pure")
    async def todo() -> str:
        """Read."""
        return "Write to ann and to bob, then note it"

    @tool(effect="unsafe")
    async def mail(to: str) -> str:
        """Write."""
        done.append(to)
        return "sent"

    @tool(effect="unsafe")
    async def note(text: str) -> str:
        """Note."""
        done.append(text)
        return "noted"

    return Agent(ScriptedModel([*replies, "all is done"]), [todo, mail, note], journal=MemoryJournal(), **options), done


@pytest.mark.parametrize("may", [MAILS, ANY])
@pytest.mark.parametrize("ends_early", [False, True])
async def test_open_points_are_held_until_all_are_made_together(may: Any, ends_early: bool):
    end = ["all is done"] if ends_early else []  # it is told once what still waits
    agent, done = world(READ, ANN, LOG, BOB, *end, [ANN, BOB])
    result = await agent.run("Do what the list says", may=may)
    assert (result.stop_reason, done) == ("paused", ["done"])
    assert [one.args for one in result.pending] == [{"to": "ann"}, {"to": "bob"}]
    assert [step.error for step in result.steps] == ["", HELD, "", HELD]
    result = await agent.resume(result.run_id, approve=True)
    assert (result.stop_reason, done) == ("answer", ["done", "ann", "bob"])
    assert result.success


@pytest.mark.parametrize("answer", [True, False, {"all": True}, {}, None, "what"])
def test_who_can_be_asked_at_once_is_asked_once(answer: Any):
    asked: list[int] = []

    async def one(call: ToolCall) -> bool:
        asked.append(1)
        return False

    async def all_of_them(calls: Sequence[ToolCall]) -> Any:
        asked.append(len(calls))
        return answer

    agent, done = world([ANN, BOB], plugins=[Approval(one, all_of_them)], ask=["mail"])
    assert go(agent.run("Write")).stop_reason == "answer"
    allows = answer is True or answer == {"all": True}
    assert done == (["ann", "bob"] if allows else [])
    assert asked == ([2] if answer or answer is False else [2, 1, 1])


def test_what_nobody_left_open_is_asked_about_at_once():
    for may in ([NOTED], [NOTED, {"tool": "mail", "ask": True}]):  # of one open point there is nothing to wait for
        agent, _ = world(READ, ANN)
        assert go(agent.run("Note that it is done", may=may)).stop_reason == "paused"


async def test_what_was_asked_about_is_not_held_again():
    agent, done = world(READ, ANN, [ANN, BOB])
    result = await agent.run("Do it", may=MAILS)
    first, second = result.pending
    result = await agent.resume(result.run_id, approve={first.call_id: True})
    assert [one.call_id for one in result.pending] == [second.call_id]
    result = await agent.resume(result.run_id, approve={second.call_id: False})
    assert (result.stop_reason, done) == ("answer", ["ann"])


def test_a_model_that_gives_up_is_told_once_and_nothing_is_done():
    agent, done = world(READ, ANN, "I may not", "I may not")
    result = go(agent.run("Do it", may=MAILS))
    assert (result.stop_reason, done) == ("answer", [])
    assert result.answer.startswith("I may not\n\n[not done: mail (to ann): a person was not asked yet")


def test_any_tool_is_only_for_asking():
    agent, _ = world("x")
    with pytest.raises(ConfigError, match="a tool is named"):
        go(agent.run("Do it", may=["*"]))
