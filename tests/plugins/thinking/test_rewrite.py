"""QuestionRewrite: the question of a longer conversation, put so that it stands alone."""

from __future__ import annotations

from kit import echo, user_texts
from plugins.aids import HISTORY, cast, run_of
from plugins.scenes import said
from treadle import Agent, ScriptedModel
from treadle._plugins.thinking.analysis import TaskAnalysis
from treadle._plugins.thinking.rewrite import QuestionRewrite


def test_the_rewritten_question_stands_alone_and_reaches_the_analysis():
    model = ScriptedModel(cast("native", 1, rewrite="Who wrote Middlemarch, on 3 May 2026?"))
    run_of(Agent(model, [echo], plugins=[QuestionRewrite(), TaskAnalysis()]), "and who wrote it?", history=HISTORY)
    asked = said(model.requests[0])
    assert "user 0" in asked
    assert "assistant 1" in asked
    assert "and who wrote it?" in asked
    assert "202" in asked, "the date is there, so that relative dates can be resolved"
    assert "Who wrote Middlemarch" in said(model.requests[1])
    texts = user_texts(model.requests[2].messages)
    assert "and who wrote it?" in texts, "what the user said stays as it was said"
    assert any("Who wrote Middlemarch" in text for text in texts)
