"""TaskAnalysis: before the loop, a model call analyses the task."""

from __future__ import annotations

from kit import echo, user_texts
from plugins.aids import cast, run_of
from plugins.scenes import components, request_text
from treadle import Agent, ScriptedModel
from treadle._types.messages import SystemMessage
from treadle.plugins import TaskAnalysis


def test_it_sees_the_task_the_tools_and_the_system_prompt_and_the_loop_sees_it():
    model = ScriptedModel(cast("native", 1, analysis="Echo it, then answer."))
    run_of(Agent(model, [echo], system="You are careful.", plugins=[TaskAnalysis()]), "What is it?")
    assert components(model) == ["analysis", "loop", "loop"]
    asked = model.requests[0]
    assert asked.messages[0] == SystemMessage("You are careful.")
    assert "- echo(text: string): Say it again." in request_text(asked)
    assert "Task:\nWhat is it?" in request_text(asked)
    assert "Analysis of the task:\nEcho it, then answer." in user_texts(model.requests[1].messages)


def test_without_tools_and_system_prompt():
    model = ScriptedModel(cast("native", 0))
    run_of(Agent(model, None, plugins=[TaskAnalysis()]))
    assert "Tools:\n(none)" in request_text(model.requests[0])
    assert len(model.requests[0].messages) == 1


def test_an_empty_analysis_adds_nothing():
    model = ScriptedModel(cast("native", 0, analysis="  \n"))
    run_of(Agent(model, [echo], plugins=[TaskAnalysis()]), "What is it?")
    assert user_texts(model.requests[1].messages) == ["What is it?"]
