"""Reflection: a look at the results of each round."""

from __future__ import annotations

from typing import Any

from kit import call, echo, user_texts
from plugins.aids import cast, run_of
from plugins.scenes import components, request_text
from treadle import Agent, Budget, ScriptedModel
from treadle._plugins.thinking.reflection import Reflection
from treadle._types.events import Reflected
from treadle._types.request import Request


def test_reflection_sees_the_results_and_the_loop_sees_the_reflection():
    model = ScriptedModel(
        cast("native", 2, reflection=lambda request: f"THOUGHT {components(model).count('reflection')}")
    )
    _, run = run_of(Agent(model, [echo], plugins=[Reflection()]))
    reflections = [request for request in model.requests if request.component == "reflection"]
    assert "result 1" in request_text(reflections[0])
    assert "result 2" in request_text(reflections[1])
    assert "THOUGHT 1" in request_text(reflections[1])
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


def test_an_empty_reflection_adds_nothing():
    model = ScriptedModel(cast("native", 2, reflection=" "))
    result, run = run_of(Agent(model, [echo], plugins=[Reflection()]))
    assert result.answer == "42"
    assert components(model).count("reflection") == 2
    assert not [record for record in run.records if isinstance(record.event, Reflected)]
    assert len(user_texts(model.requests[-1].messages)) == 1


def test_long_results_are_cut_for_it():
    model = ScriptedModel(cast("native", 0, loop=lambda request: _long_call(request)))
    run_of(Agent(model, [echo], plugins=[Reflection(observation_chars=300)]))
    (asked,) = [request for request in model.requests if request.component == "reflection"]
    assert "[... cut]" in request_text(asked)
    assert len(request_text(asked)) < 2_000


def _long_call(request: Request) -> Any:
    return call("echo", text="long " * 1_000) if len(request.messages) == 1 else "42"
