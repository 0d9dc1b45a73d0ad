"""Planner: a plan before the loop, kept up to date."""

from __future__ import annotations

from typing import Any

from kit import echo
from plugins.aids import cast, run_of
from plugins.scenes import components, request_text, structured
from treadle import Agent, Budget, ScriptedModel
from treadle._plugins.thinking.observer import Observer
from treadle._plugins.thinking.planner import Planner, plan_text
from treadle._plugins.thinking.reflection import Reflection
from treadle._types.events import MessageAdded, PlanStep
from treadle._types.request import Request


def test_the_plan_is_in_the_conversation_and_follows_the_work():
    model = ScriptedModel(cast("native", 2))
    _, run = run_of(Agent(model, [echo], plugins=[Planner()]))
    loop = [request for request in model.requests if request.component == "loop"]
    assert "[ ] 1. find the number" in request_text(loop[0])
    assert "[x] 1. find the number\n[ ] 2. double it" in request_text(loop[1])
    updates = [request for request in model.requests if request.component == "planner"]
    assert "result 1" in request_text(updates[1])
    assert "42" in request_text(updates[-1])
    assert all(step.done for step in run.state.plan)
    added = [record.event for record in run.records if isinstance(record.event, MessageAdded)]
    assert len(added) == 3, "a plan that did not change is not repeated"


def test_a_plan_for_a_task_that_needs_no_tool():
    model = ScriptedModel(cast("native", 0))
    result, _ = run_of(Agent(model, [echo], plugins=[Planner(), Observer(), Reflection()]))
    assert components(model) == ["planner", "loop", "planner", "planner"]
    assert result.answer == "42"


def test_a_budget_that_pays_for_the_answer_but_not_for_the_aids():
    """An answer that was found is never lost because a plan could not be brought up to date."""
    for on_budget, requests in (("raise", 2), ("force_answer", 3)):
        model = ScriptedModel(cast("native", 0))
        result, _ = run_of(
            Agent(model, [echo], plugins=[Planner()], budget=Budget(requests=requests), on_budget=on_budget)
        )
        assert components(model) == ["planner", "loop", "planner"][:requests]
        assert result.answer == "42"
        assert result.stop_reason == "answer"


def test_the_text_of_a_plan():
    steps = (PlanStep("find it", True), PlanStep("tell it"))
    assert plan_text(steps) == "Plan:\n[x] 1. find it\n[ ] 2. tell it"


def test_a_plan_without_steps_is_asked_for_again_and_long_ones_are_cut():
    plans = [
        {"steps": []},
        {"steps": [{"text": " ", "done": False}]},
        {"steps": [{"text": f"step {number} " + "x" * 400, "done": False} for number in range(30)]},
    ]

    def planner(request: Request) -> Any:
        return structured(request, plans.pop(0) if len(plans) > 1 else plans[0])

    model = ScriptedModel(cast("native", 0, planner=planner))
    _, run = run_of(Agent(model, [echo], plugins=[Planner()]))
    assert len(run.state.plan) == 20
    assert all(len(step.text) <= 300 for step in run.state.plan)
    assert any("the plan has no steps" in request_text(request) for request in model.requests)


def test_a_run_that_ends_without_an_answer_has_no_last_update():
    model = ScriptedModel(cast("native", 9))
    run_of(Agent(model, [echo], plugins=[Planner()], max_iterations=2))
    assert components(model) == ["planner", "loop", "planner", "loop", "planner", "final"]
