"""Reflection: a look at the results of each round."""

from __future__ import annotations

from kit import echo, user_texts
from plugins.aids import cast, run_of
from plugins.scenes import components, said
from treadle import Agent, Budget, ScriptedModel
from treadle._plugins.thinking.reflection import Reflection
from treadle._types.events import Reflected


def test_reflection_sees_the_results_and_the_loop_sees_the_reflection():
    model = ScriptedModel(
        cast("native", 2, reflection=lambda request: f"THOUGHT {components(model).count('reflection')}")
    )
    _, run = run_of(Agent(model, [echo], plugins=[Reflection()]))
    reflections = [request for request in model.requests if request.component == "reflection"]
    assert "result 1" in said(reflections[0])
    assert "result 2" in said(reflections[1])
    assert "THOUGHT 1" in said(reflections[1])
    loop = [request for request in model.requests if request.component == "loop"]
    assert any("THOUGHT 2" in text for text in user_texts(loop[2].messages))
    assert [record.event.text for record in run.records if isinstance(record.event, Reflected)] == [
        "THOUGHT 1",
        "THOUGHT 2",
    ]


def test_an_adviser_leaves_what_the_last_answer_needs():
    model = ScriptedModel(cast("native", 9))
    result, _ = run_of(
        Agent(model, [echo], plugins=[Reflection()], budget=Budget(requests=4), on_budget="force_answer")
    )
    assert components(model) == ["loop", "reflection", "loop", "final"]
    assert result.stop_reason == "budget"
    assert result.answer == "final says so"
