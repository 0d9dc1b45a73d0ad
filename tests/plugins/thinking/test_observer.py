"""Observer: a second look at the work now and then."""

from __future__ import annotations

from typing import Any

from kit import add, echo, user_texts
from plugins.aids import cast, run_of
from plugins.scenes import request_text, structured
from treadle import Agent, ScriptedModel
from treadle._plugins.thinking.observer import ASTRAY, Observer
from treadle._plugins.thinking.planner import Planner
from treadle._types.events import Observed
from treadle._types.request import Request


def test_the_observer_looks_when_it_is_due_and_corrects_what_goes_wrong():
    def observer(request: Request) -> Any:
        astray = "result 3" in request_text(request) and "result 4" not in request_text(request)
        verdict = {
            "is_progressing": not astray,
            "is_in_loop": False,
            "reasoning": "hm",
            "correction_message": "Ask elsewhere.",
        }
        return structured(request, verdict)

    model = ScriptedModel(cast("native", 8, observer=observer))
    _, run = run_of(Agent(model, [echo, add], plugins=[Observer(3)]))
    looks = [record.event for record in run.records if isinstance(record.event, Observed)]
    assert [(look.iteration, bool(look.correction)) for look in looks] == [
        (3, True),
        (6, False),
        (7, False),
        (8, False),
        (9, False),
    ]
    last = next(request for request in reversed(model.requests) if request.component == "loop")
    assert [text for text in user_texts(last.messages) if "Ask" in text] == ["Ask elsewhere.\nTools: add, echo."]


def test_an_observer_with_threshold_one_starts_with_iteration_two():
    model = ScriptedModel(cast("native", 3))
    _, run = run_of(Agent(model, [echo], plugins=[Observer(1)]))
    assert [record.event.iteration for record in run.records if isinstance(record.event, Observed)] == [2, 3, 4]


def test_a_verdict_without_a_correction_gets_our_words():
    verdict = {"is_progressing": True, "is_in_loop": True, "reasoning": "again and again"}
    model = ScriptedModel(cast("native", 2, observer=lambda request: structured(request, verdict)))
    _, run = run_of(Agent(model, [echo], plugins=[Observer(1)]))
    first, last = [record.event for record in run.records if isinstance(record.event, Observed)]
    assert (first.looping, first.progressing, first.reasoning) == (True, True, "again and again")
    assert first.correction == f"{ASTRAY}\nTools: echo."
    assert last.correction == "", "the answer is there: nothing is corrected any more"


def test_it_sees_what_is_new_and_the_plan():
    model = ScriptedModel(cast("native", 4))
    run_of(Agent(model, [echo], plugins=[Planner(), Observer(2)]))
    looks = [request for request in model.requests if request.component == "observer"]
    assert "Plan:\n[x] find the number" in request_text(looks[0])
    newest = str(looks[1].messages[-1].content)
    assert "result 3" in newest
    assert "result 2" not in newest
