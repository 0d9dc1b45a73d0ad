"""Approval: calls of tools marked `ask` wait until a person has decided; `deny` is refused at once."""

from __future__ import annotations

from typing import Any

import pytest

from kit import call, echo, go
from treadle import Agent, RunResult, ScriptedModel, tool
from treadle._journal.base import InboxItem
from treadle._journal.memory import MemoryJournal
from treadle._types.events import Approved
from treadle._types.messages import ToolCall
from treadle.plugins import Approval


class Shop:
    """One tool that needs approval, and what was bought."""

    def __init__(self, approval: Any = "ask") -> None:
        self.bought: list[str] = []

        @tool(approval=approval)
        async def buy(item: str) -> str:
            """Buy something."""
            self.bought.append(item)
            return f"bought {item}"

        self.tool = buy
        self.journal = MemoryJournal()

    def agent(self, *plugins: Any) -> Agent:
        model = ScriptedModel(lambda request: "done" if len(request.messages) > 1 else call("buy", item="milk"))
        return Agent(model, [self.tool, echo], plugins=plugins, journal=self.journal)


def test_a_tool_that_is_denied_is_not_run():
    shop = Shop("deny")
    result = go(shop.agent().run("q"))
    assert (result.answer, shop.bought) == ("done", [])
    assert result.steps[0].error == "denied"
    assert "not allowed here" in result.steps[0].observation


def test_a_tool_that_needs_no_approval_is_not_asked_about():
    asked: list[str] = []

    async def ask(made: ToolCall) -> bool:
        asked.append(made.name)
        return False

    model = ScriptedModel([call("echo", text="x"), call("nope"), "done"])
    result = go(Agent(model, [echo], plugins=[Approval(ask)]).run("q"))
    assert (asked, [step.error for step in result.steps]) == ([], ["", "unknown_tool"])


def test_without_a_function_to_ask_the_run_pauses_and_is_resumed_with_the_decision():
    for allow, bought in ((True, ["milk"]), (False, [])):
        shop = Shop()

        async def main(shop: Shop = shop, allow: bool = allow) -> RunResult:
            paused = await shop.agent().run("q")
            assert paused.stop_reason == "paused"
            assert shop.bought == []
            return await shop.agent().resume(paused.run_id, approve={"call_1_0": allow})

        result = go(main())
        assert (result.answer, shop.bought) == ("done", bought)
        assert result.steps[0].error == ("" if allow else "denied")


async def test_a_refusal_says_why():
    shop = Shop()
    paused = await shop.agent().run("q")
    decision: dict[str, object] = {"call_id": "call_1_0", "allow": False, "by": "Ada", "note": "we have some"}
    await shop.journal.put(InboxItem("1", paused.run_id, "approve", decision))
    result = await shop.agent().resume(paused.run_id)
    assert "we have some" in result.steps[0].observation


@pytest.mark.parametrize(("decision", "bought"), [(True, ["milk"]), (False, [])])
async def test_a_function_is_asked_at_once_and_its_decision_is_recorded(decision: bool, bought: list[str]):
    shop = Shop()
    asked: list[ToolCall] = []

    async def ask(made: ToolCall) -> bool:
        asked.append(made)
        return decision

    run = shop.agent(Approval(ask)).start("q")
    result = await run
    assert [event.allow for r in run.records if isinstance(event := r.event, Approved)] == [decision]
    assert [(made.name, made.args) for made in asked] == [("buy", {"item": "milk"})]
    assert (result.stop_reason, shop.bought) == ("answer", bought)
    assert result.steps[0].error == ("" if decision else "denied")


def test_a_function_that_does_not_decide_pauses_the_run():
    shop = Shop()

    async def ask(made: ToolCall) -> None:
        return None

    result = go(shop.agent(Approval(ask)).run("q"))
    assert (result.stop_reason, shop.bought) == ("paused", [])
