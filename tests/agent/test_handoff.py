"""A hand-off: the other agent has the conversation, and its answer is the run's."""

from __future__ import annotations

from typing import Any

import pytest

from kit import add, call, go
from treadle import Agent, Budget, ScriptedModel, tool
from treadle._agent.handoff import handoff_tool
from treadle._cli.display.timeline import Line, Timeline
from treadle._journal.memory import MemoryJournal
from treadle._plugins.guards.guardrail import Guardrail, forbid_patterns
from treadle._types import events as ev
from treadle._types.errors import BudgetExhaustedError, GuardrailError

WHY = "it is about money"


def billing(*script: Any, **options: Any) -> Agent:
    return Agent(ScriptedModel(script or ["You owe 3."]), options.pop("tools", [add]), name="billing", **options)


def front(*script: Any, to: Agent, **options: Any) -> Agent:
    script = script or (call("transfer_to_billing", reason=WHY),)
    return Agent(ScriptedModel(script), [add, to.as_handoff()], name="front", **options)


def seen_by(agent: Agent, number: int = 0) -> list[str]:
    return [str(getattr(message, "content", "")) for message in agent.model.requests[number].messages]  # type: ignore[attr-defined]


def test_the_other_agent_is_asked_the_users_question_and_its_answer_is_the_runs():
    other = billing()
    agent = front(to=other)
    result = go(agent.run("What do I owe?", history=[{"role": "user", "content": "Hi"}]))
    assert (result.answer, result.stop_reason, result.success) == ("You owe 3.", "final_tool", True)
    assert seen_by(other)[-2:] == ["Hi", "What do I owe?"]
    assert len(agent.model.requests) == 1  # type: ignore[attr-defined]
    assert result.usage.requests == 2


def test_what_was_done_before_goes_with_the_conversation():
    other = billing()
    result = go(front(call("add", a=1, b=2), call("transfer_to_billing", reason=WHY), to=other).run("What do I owe?"))
    assert result.answer == "You owe 3."
    words = seen_by(other)
    assert words[0] == "What do I owe?"
    assert words[-2] == "3"
    assert words[-1].startswith("(This conversation was handed over to you by front: it is about money.")
    assert words[-1].endswith("What do I owe?")


async def test_it_is_recorded_and_shown():
    agent = front(to=billing(), journal=MemoryJournal())
    run = agent.prepare("q", run_id="r")
    timeline = Timeline("r")
    shown: list[Any] = []
    run.subscribe(lambda record: shown.extend(timeline.feed(record)))
    result = await agent.launch(run)
    (note,) = [record.event for record in run.records if isinstance(record.event, ev.Noted)]
    inner = f"r.{run.state.steps[0].call_id}"
    assert note.data["report"] == {"from": "front", "to": "billing", "run": inner, "reason": WHY}
    assert result.metadata["reports"]["handoff"]["to"] == "billing"
    assert f"handed over to billing: {WHY}" in [item.text for item in shown if isinstance(item, Line)]


async def test_a_chain_of_hand_offs_says_who_has_it_last_and_ends():
    last = Agent(ScriptedModel(["Done."]), [add], name="refunds")
    middle = billing(call("transfer_to_refunds", reason="money back"), tools=[last.as_handoff()])
    agent = front(to=middle, journal=MemoryJournal())
    run = agent.prepare("q", run_id="r")
    result, records = await agent.launch(run), list(run.records)
    assert result.answer == "Done."
    assert result.metadata["reports"]["handoff"]["to"] == "refunds"
    told = [record.event.phase for record in records if isinstance(record.event, ev.PhaseChanged)]
    assert told == [f"handed over to billing: {WHY}", "handed over to refunds: money back"], "where the user looks"


def test_agents_that_hand_over_in_a_circle_are_stopped():
    other = billing(*[call("transfer_to_front", reason="no, you")] * 3, "I do it.")
    agent = front(*[call("transfer_to_billing", reason="no, you")] * 3, "I do it.", to=other)
    other.update_toolkit([agent.as_handoff()])
    result = go(agent.run("q"))
    assert result.answer == "I do it."


def test_one_budget_holds_for_both():
    other = billing(call("add", a=1, b=1), call("add", a=1, b=2), "never")
    with pytest.raises(BudgetExhaustedError):
        go(front(to=other, budget=Budget(requests=3)).run("q"))
    assert len(other.model.requests) == 2  # type: ignore[attr-defined]


def test_a_second_hand_off_in_one_reply_is_refused():
    other = billing("first", "second")
    twice = [call("transfer_to_billing", reason="a"), call("transfer_to_billing", reason="b")]
    result = go(front(twice, to=other).run("q"))
    assert result.answer == "first"
    assert len(other.model.requests) == 1  # type: ignore[attr-defined]


def test_one_that_fails_is_told_to_the_first_agent():
    result = go(front(call("transfer_to_billing", reason=WHY), "Sorry.", to=billing(ValueError("down"))).run("q"))
    assert result.answer == "Sorry."
    assert result.steps[0].error


@tool(approval="ask")
async def refund(amount: int) -> str:
    """Pay money back."""
    return f"paid {amount}"


@pytest.mark.parametrize("allow", [True, False])
async def test_a_person_is_asked_inside_it_and_it_goes_on_in_another_process(allow: bool):
    journal = MemoryJournal()

    def made() -> Agent:
        def script(request: Any) -> Any:
            said = str(request.messages[-1].content)
            return f"Done: {said}" if len(request.messages) > 1 else call("refund", amount=3)

        return front(to=Agent(ScriptedModel(script), [refund], name="billing"), journal=journal)

    paused = await made().run("q", run_id="r")
    assert paused.stop_reason == "paused"
    result = await made().resume("r", approve=allow)
    assert result.answer.startswith("Done: ")
    assert ("paid 3" in result.answer) is allow
    notes = [r for r in await journal.load("r") if isinstance(r.event, ev.Noted)]
    assert len(notes) == 1


def test_names_are_those_a_model_can_call():
    assert handoff_tool(Agent(ScriptedModel(["x"]), None, name="my agent!")).name == "transfer_to_my_agent_"
    assert handoff_tool(billing(), name="to_billing", description="D").description == "D"


def test_a_refusal_of_the_other_agents_guardrail_ends_the_run():
    other = billing(
        "The secret is 42.", plugins=[Guardrail(forbid_patterns("secret"), on="output", message="I cannot say.")]
    )
    agent = front(call("transfer_to_billing", reason=WHY), "I go on all the same.", to=other)
    result = go(agent.run("What is it?"))
    assert (result.success, result.answer) == (False, "I cannot say.")
    assert isinstance(result.error, GuardrailError)
    assert len(agent.model.requests) == 1  # type: ignore[attr-defined]
