"""The calls around the steps: plan, judge, choose the way to work."""

from __future__ import annotations

from typing import Any

import pytest

from engine.executions import recorded, started
from kit import call
from treadle import ScriptedModel
from treadle._flows.dag.advice import choose_mode, findings, judge, make_plan, read_verdict
from treadle._types import events as ev
from treadle._types.errors import StructuredCallError

STEPS = [{"id": "a", "task": "find", "dependencies": []}, {"id": "b", "task": "sum", "dependencies": ["a"]}]


def test_a_verdict_is_read_strictly():
    for raw, read in (
        ({"achieved": True, "confidence": 0.9, "final_answer": "\n 42 \n"}, (True, 0.9, "42")),
        ({"achieved": "true", "confidence": 7}, (False, 1.0, "")),
        ({"achieved": False, "confidence": -3}, (False, 0.0, "")),
        ({"achieved": 1, "confidence": "0.5"}, (False, 0.5, "")),
    ):
        verdict = read_verdict(raw)
        assert (verdict["achieved"], verdict["confidence"], verdict["final_answer"]) == read
    for raw in ({"achieved": True}, {"confidence": 1}, {"achieved": True, "confidence": None}):
        with pytest.raises((KeyError, TypeError)):
            read_verdict(raw)


async def test_a_plan_may_have_one_step_and_steps_without_dependencies():
    model = ScriptedModel([call("make_plan", steps=[{"id": "a", "task": "find"}])])
    plan = await make_plan(await started(model), [], ["general"], "")
    assert [(step.id, step.dependencies) for step in plan.steps] == [("a", ())]
    assert len(model.requests) == 1, "it is not asked for again"


async def test_a_planner_is_told_question_tools_models_and_what_was_found():
    model = ScriptedModel([call("make_plan", steps=STEPS)])
    run = await started(model)
    plan = await make_plan(run, ["search", "add"], ["general", "fast"], "[a] found")
    assert [step.id for step in plan.steps] == ["a", "b"]
    text = str(model.requests[0].messages[-1])
    assert all(part in text for part in ("q", "search, add", "general, fast", "[a] found"))
    assert model.requests[0].component == "planner"
    assert recorded(run, ev.ThinkDone)[0].component == "planner"


async def test_without_tools_and_findings_it_is_told_so_or_nothing():
    model = ScriptedModel([call("make_plan", steps=STEPS)])
    await make_plan(await started(model, prompts={"dag_planner": "PLAN"}), [], ["general"], "")
    system, user = model.requests[0].messages
    assert system.text == "PLAN"  # type: ignore[union-attr]
    assert "Tools: none" in str(user)
    assert "earlier rounds" not in str(user)


async def test_without_a_plan_there_is_no_run():
    with pytest.raises(StructuredCallError):
        await make_plan(await started(ScriptedModel(["no"], repeat_last=True)), [], [], "")


async def test_a_judgement_is_a_record_of_its_round():
    model = ScriptedModel([call("judge", achieved=True, confidence=0.9, final_answer="42", reasoning="fine")])
    assert await judge(await started(model), 2, "[a] 42") == ev.DagJudged(2, True, 0.9, "42", "fine")
    assert "[a] 42" in str(model.requests[0].messages[-1])


@pytest.mark.parametrize(
    ("entry", "mode"),
    [(call("choose_mode", mode="dag"), "dag"), (call("choose_mode", mode="both"), "loop"), ("hm", "loop")],
)
async def test_in_doubt_one_agent_works_step_by_step(entry: Any, mode: str):
    assert await choose_mode(await started(ScriptedModel([entry, *["hm"] * 9]))) == mode


def test_findings_name_task_and_result_or_what_went_wrong():
    steps = {
        "a": ("find", ev.StepDone("a", "completed", "r" * 50)),
        "b": ("sum", ev.StepDone("b", "failed", error="timed out")),
        "c": ("again", ev.StepDone("c", "reused", "same")),
        "d": ("later", ev.StepDone("d", "skipped", error="depends on b")),
    }
    text = findings(steps, 30)
    assert text.split("\n\n") == [
        "[a] find\n" + "r" * 20 + " [... cut]",
        "[b] sum\nfailed: timed out",
        "[c] again\nsame",
        "[d] later\nskipped: depends on b",
    ]
    assert findings({}, 30) == ""
