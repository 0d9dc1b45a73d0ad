"""Decisions that are left for another process."""

from __future__ import annotations

from typing import Any

import pytest

from kit import add, call
from treadle import Agent, ScriptedModel, tool
from treadle._agent.waiting import InvalidArgumentsError, decided, leave_decisions, waiting_calls
from treadle._journal.memory import MemoryJournal
from treadle._types.errors import ConfigError
from treadle._types.state import fold

PAID: list[int] = []


@tool(approval="ask")
async def pay(amount: int) -> str:
    """Pay."""
    PAID.append(amount)
    return f"paid {amount}"


@pytest.fixture(autouse=True)
def nothing_paid() -> None:
    PAID.clear()


def agent(journal: MemoryJournal, *, nested: bool) -> Agent:
    """Pays itself, or has an agent inside do it."""
    if not nested:
        return Agent(ScriptedModel([call("pay", amount=500), "done"]), [pay, add], journal=journal)
    clerk = Agent(ScriptedModel([call("pay", amount=500), "done"]), [pay], name="clerk")
    order = {"user_prompt": "pay", "reasoning": "", "context": ""}
    return Agent(ScriptedModel([call("clerk", **order), "done"]), [clerk.as_tool()], journal=journal)


@pytest.mark.parametrize("nested", [False, True])
async def test_a_decision_waits_in_the_inbox_for_whoever_resumes_the_run(nested: bool):
    journal = MemoryJournal()
    boss = agent(journal, nested=nested)
    run_id = (await boss.run("q")).run_id
    state = fold(await journal.load(run_id))
    [waiting] = waiting_calls(state)
    decisions = await decided(journal, run_id, state, {waiting.id: {"allow": True, "args": {"amount": 5}}})
    await leave_decisions(journal, run_id, decisions)
    assert PAID == []
    result = await boss.resume(run_id)
    assert (result.answer, PAID) == ("done", [5])
    assert waiting_calls(fold(await journal.load(run_id))) == ()


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        ({"allow": True, "args": {"amount": "a lot"}}, InvalidArgumentsError, "'amount': expected integer"),
        ({"allow": True, "args": {}}, InvalidArgumentsError, "'amount': missing"),
        ({"allow": True, "args": {"amount": 1, "to": "me"}}, InvalidArgumentsError, "unknown argument 'to'"),
        ({"allow": "yes"}, ConfigError, "must be True, False or a mapping"),
    ],
    ids=str,
)
async def test_arguments_the_tool_does_not_take_are_refused_before_anything_is_left(
    answer: Any, kind: type[Exception], words: str, nested: bool
):
    journal = MemoryJournal()
    run_id = (await agent(journal, nested=nested).run("q")).run_id
    state = fold(await journal.load(run_id))
    with pytest.raises(kind, match=words):
        await decided(journal, run_id, state, {waiting_calls(state)[0].id: answer})
