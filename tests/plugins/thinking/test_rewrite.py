"""QuestionRewrite: the question of a longer conversation, put so that it stands alone."""

from __future__ import annotations

from typing import Any

import pytest

from kit import echo, user_texts
from plugins.aids import HISTORY, cast, run_of
from plugins.scenes import components, request_text
from treadle import Agent, RetryPolicy, ScriptedModel
from treadle._plugins.thinking.analysis import TaskAnalysis
from treadle._plugins.thinking.rewrite import QuestionRewrite, standalone_question
from treadle._types.errors import TransientModelError
from treadle._types.messages import AssistantMessage, ToolCall, ToolMessage


def test_the_rewritten_question_stands_alone_and_reaches_the_analysis():
    model = ScriptedModel(cast("native", 1, rewrite="Who wrote Middlemarch, on 3 May 2026?"))
    run_of(Agent(model, [echo], plugins=[QuestionRewrite(), TaskAnalysis()]), "and who wrote it?", history=HISTORY)
    asked = request_text(model.requests[0])
    assert "user 0" in asked
    assert "assistant 1" in asked
    assert "and who wrote it?" in asked
    assert "202" in asked, "the date is there, so that relative dates can be resolved"
    assert "Who wrote Middlemarch" in request_text(model.requests[1])
    texts = user_texts(model.requests[2].messages)
    assert "and who wrote it?" in texts, "what the user said stays as it was said"
    assert any("Who wrote Middlemarch" in text for text in texts)


def test_a_short_conversation_is_left_alone():
    for above, asked in ((3, 1), (4, 1), (5, 0)):
        model = ScriptedModel(cast("native", 0))
        run_of(Agent(model, [echo], plugins=[QuestionRewrite(above)]), history=HISTORY)
        assert components(model).count("rewrite") == asked


@pytest.mark.parametrize("reply", ["", "  ", "What is it?", TransientModelError("down", status=503)], ids=str)
def test_a_question_that_stays_as_it_is_is_not_said_twice(reply: Any):
    model = ScriptedModel(cast("native", 0, rewrite=reply))
    agent = Agent(model, [echo], plugins=[QuestionRewrite()], retry=RetryPolicy(attempts=1))
    _, run = run_of(agent, "What is it?", history=HISTORY)
    texts = user_texts(model.requests[-1].messages)
    assert texts.count("What is it?") == 1
    assert not any("stands alone" in text for text in texts)
    assert standalone_question(run.state) == "What is it?"


def test_only_what_was_said_is_shown_and_never_more_than_fits():
    history = [
        *HISTORY,
        AssistantMessage("", (ToolCall("1", "echo", {"text": "x"}),)),
        ToolMessage("1", "echo", "a result nobody said"),
        AssistantMessage("long " * 3_000),
    ]
    model = ScriptedModel(cast("native", 0, rewrite="What is the answer?"))
    agent = Agent(model, [echo], plugins=[QuestionRewrite()], context_budget=1_200)
    _, run = run_of(agent, "What is it?", history=history)
    first = next(request for request in model.requests if request.component == "rewrite")
    assert "a result nobody said" not in request_text(first)
    assert "User: user 0\nAssistant: assistant 0" in request_text(first)
    assert len(request_text(first)) < 1_200 * 4
    assert standalone_question(run.state) == "What is the answer?"
