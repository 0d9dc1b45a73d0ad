"""What a person's decision can say, and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

from kit import call, go
from treadle import Agent, DagAgent, ScriptedModel, tool
from treadle._engine.core.decisions import decision_of, decisions_about
from treadle._inspect.replay import fork_at_record
from treadle._journal.memory import MemoryJournal
from treadle._plugins.guards.approval import Approval
from treadle._tools.base import Tool
from treadle._types.errors import ConfigError
from treadle._types.events import Approved, StepDone, ThinkDone, ToolStarted
from treadle._types.messages import ToolCall

WAITING = (ToolCall("c1", "pay", {"amount": 5}), ToolCall("c2", "send", {}))


def payer(paid: list[int], approval: str = "ask") -> Tool:
    @tool
    async def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return f"paid {amount}"

    return pay.replace(approval=approval)


@pytest.mark.parametrize(
    ("approve", "allowed"),
    [
        (True, {"c1": True, "c2": True}),
        (False, {"c1": False, "c2": False}),
        ({"all": True}, {"c1": True, "c2": True}),
        ({"all": True, "c1": False}, {"c1": False, "c2": True}),
        ({"c2": True}, {"c2": True}),
        ({"c2": {"allow": True, "note": "fine"}}, {"c2": True}),
        ({}, {}),
    ],
)
def test_one_answer_for_all_or_one_by_id(approve: Any, allowed: dict[str, bool]):
    decisions = decisions_about(WAITING, approve)
    assert {decision.call_id: decision.allow for decision in decisions} == allowed
    assert all(decision.tool for decision in decisions)


@pytest.mark.parametrize(
    ("approve", "message"),
    [
        ({"c9": True}, r"no call 'c9' waits for a decision; waiting: c1 \(pay\), c2 \(send\)"),
        ("yes", "approve is 'yes', and it must be True, False or a mapping of call ids to answers"),
        (1, "approve is 1, and it must be"),
        ([True], "must be True, False or a mapping"),
        ({"c1": "yes"}, "must be True, False or a mapping with 'allow', not str"),
        ({"c1": {"allow": True, "args": "a lot"}}, "must be a mapping of argument names"),
        ({"c1": {"args": {}}}, "must be True, False or a mapping with 'allow'"),
        ({"c1": {"allow": True, "arguments": {}}}, "has 'arguments'; expected one of: allow, args, always, by, note"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_words(approve: Any, message: str):
    with pytest.raises(ConfigError, match=message):
        decisions_about(WAITING, approve)


def test_a_call_that_is_named_like_the_word_for_all_is_not_taken_for_it():
    waiting = (ToolCall("all", "pay", {}), *WAITING)
    with pytest.raises(ConfigError, match="a call has the id 'all'"):
        decisions_about(waiting, {"all": True})
    assert len(decisions_about(waiting, True)) == 3


@pytest.mark.parametrize("answer", ["yes", 1, None, {}, {"allow": "true"}, {"allow": 1}, {"allow": True, "args": "x"}])
def test_only_true_allows(answer: Any):
    assert not decision_of("c1", answer).allow


@pytest.mark.parametrize("said", [{"allow": "yes"}, {"allow": True, "args": "all"}, {"allow": 1, "always": True}])
def test_a_run_takes_no_decision_that_is_not_plain(said: Any):
    run = Agent(ScriptedModel(["done"]), None).prepare("q")
    run.approve("c1", **said)
    assert [one.allow for one in run.decisions] == [False]
    run.approve("c2", True, always="no")  # type: ignore[arg-type]
    assert (run.decisions[-1].allow, run.decisions[-1].always) == (True, False)


async def test_edited_arguments_are_the_ones_that_run_and_both_versions_are_in_the_log():
    paid: list[int] = []
    agent = Agent(ScriptedModel([call("pay", amount=500), "done"]), [payer(paid)])
    run = agent.start("q")
    result = await run
    [pending] = result.pending
    assert (pending.tool, pending.args, pending.why) == ("pay", {"amount": 500}, "approval of pay")
    assert pending.call_id in pending.how
    again = await agent.load(run, approve={pending.call_id: {"allow": True, "args": {"amount": 5}}})
    result = await agent.launch(again)
    assert paid == [5]
    assert result.pending == ()
    asked = next(r.event for r in again.records if isinstance(r.event, ThinkDone))
    started = next(r.event for r in again.records if isinstance(r.event, ToolStarted))
    assert (asked.message.calls[0].args, started.call.args) == ({"amount": 500}, {"amount": 5})
    (step,) = result.steps
    assert (step.args, step.asked, step.wanted) == ({"amount": 5}, {"amount": 500}, {"amount": 500})


def test_each_call_that_waits_says_why_it_waits_also_one_inside_an_agent():
    @tool(approval="ask")
    async def send() -> str:
        """Send."""
        return "sent"

    clerk = Agent(ScriptedModel([call("send"), "done"]), [send], name="clerk")
    order = {"user_prompt": "send it", "reasoning": "", "context": ""}
    both = Agent(ScriptedModel([[call("pay", amount=1), call("pay", amount=2)], "done"]), [payer([])])
    result = go(both.run("q"))
    assert [pending.why for pending in result.pending] == ["approval of pay", "approval of pay"]
    boss = Agent(ScriptedModel([call("clerk", **order), "done"]), [clerk.as_tool()])
    result = go(boss.run("q"))
    assert [(pending.tool, pending.why) for pending in result.pending] == [("send", "approval of send")]


def test_edited_arguments_are_validated_again():
    paid: list[int] = []

    async def edit(call: ToolCall) -> dict[str, Any]:
        return {"allow": True, "args": {"amount": "a lot"}}

    result = go(Agent(ScriptedModel([call("pay", amount=5), "done"]), [payer(paid)], plugins=[Approval(edit)]).run("q"))
    assert paid == []
    assert result.steps[0].error == "invalid_args"


def test_always_holds_for_this_tool_and_this_run_also_when_resumed():
    paid: list[int] = []
    asked: list[str] = []

    async def always(call: ToolCall) -> dict[str, Any]:
        asked.append(call.name)
        return {"allow": True, "always": True}

    @tool
    async def send() -> str:
        """Send."""
        return "sent"

    script = [call("pay", amount=1), call("pay", amount=2), call("send"), "done"]
    agent = Agent(ScriptedModel(script), [payer(paid), send.replace(approval="ask")], plugins=[Approval(always)])
    go(agent.run("q"))
    assert (paid, asked) == ([1, 2], ["pay", "send"])

    again = Agent(ScriptedModel([call("pay", amount=1), call("pay", amount=2), "done"]), [payer(paid)])

    async def main() -> None:
        first = await again.run("q")
        result = await again.resume(first.run_id, approve={first.pending[0].call_id: {"allow": True, "always": True}})
        assert result.answer == "done"

    paid.clear()
    go(main())
    assert paid == [1, 2]


async def test_a_fork_taken_before_the_call_ran_asks_again():
    paid: list[int] = []
    journal = MemoryJournal()
    agent = Agent(ScriptedModel([call("pay", amount=1), "done"]), [payer(paid)], journal=journal)
    first = await agent.run("q")
    await agent.resume(first.run_id, approve=True)
    assert paid == [1]
    records = await journal.load(first.run_id)
    cut = next(record.seq for record in records if isinstance(record.event, ToolStarted))
    assert any(isinstance(record.event, Approved) for record in records[:cut])
    for _ in range(3):
        copy = await fork_at_record(journal, records, cut)
        result = await Agent(ScriptedModel(["done"]), [payer(paid)], journal=journal).resume(copy)
        assert result.stop_reason == "paused"
    assert paid == [1], "one approval, one execution"


PLAN = {"steps": [{"id": "a", "task": "pay it", "dependencies": []}, {"id": "b", "task": "look", "dependencies": []}]}


def plan_model() -> ScriptedModel:
    def reply(request: Any) -> Any:
        texts = str(request.messages)
        if request.component == "planner":
            return call("make_plan", **PLAN)
        if request.component == "analyzer":
            return call("judge", achieved=True, confidence=1.0, final_answer="all done", reasoning="")
        done = "paid 7" in texts or "refused" in texts
        return call("pay", amount=7) if "pay it" in texts and not done else "seen"

    return ScriptedModel(reply)


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("allow", [True, False])
async def test_a_plan_whose_step_waits_for_a_person_pauses_and_is_resumed(allow: bool, stored: bool):
    paid: list[int] = []
    journal = MemoryJournal() if stored else None
    dag = DagAgent(plan_model(), [payer(paid)], journal=journal)
    run = dag.start("q")
    result = await run
    assert result.stop_reason == "paused"
    assert [pending.tool for pending in result.pending] == ["pay"]
    assert paid == []
    finished = [r.event.step for r in run.records if isinstance(r.event, StepDone)]
    assert finished == ["b"], "what does not wait has run"
    if stored:
        dag = DagAgent(plan_model(), [payer(paid)], journal=journal)
    result = await dag.resume(run.id if stored else run, approve=allow)
    assert result.answer == "all done"
    assert paid == ([7] if allow else [])
