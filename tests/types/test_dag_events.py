"""The records of a DAG run."""

from __future__ import annotations

from treadle._types import dag_events, events
from treadle._types.dag_events import DagJudged, DagPlanned, PlannedStep, StepDone, StepStarted
from treadle._types.events import decode_event, encode_event
from treadle._types.usage import NO_USAGE


def test_they_are_events_like_all_others():
    for name in ("DagModeChosen", "DagPlanning", "DagPlanned", "DagJudged", "StepStarted", "StepDone"):
        assert getattr(events, name) is getattr(dag_events, name)
        assert getattr(events, name) in events.Event.__args__


def test_a_plan_as_it_is_stored():
    plan = DagPlanned(
        2, (PlannedStep("a", "find it"), PlannedStep("b", "sum up", ("a",), tool_hint="add")), ("cut",), 1
    )
    data = encode_event(plan)
    assert data == (
        b'{"type":"dag_planned","round":2,"steps":[{"id":"a","task":"find it"},'
        b'{"id":"b","task":"sum up","dependencies":["a"],"tool_hint":"add"}],"notes":["cut"],"free_replans":1}'
    )
    assert decode_event(data) == plan


def test_a_verdict_is_against_unless_it_says_otherwise():
    verdict = DagJudged(1)
    assert (verdict.achieved, verdict.confidence, verdict.final_answer) == (False, 0.0, "")


def test_steps_belong_to_the_first_round_unless_they_say_otherwise():
    assert StepStarted("a", "run-a", "find it").round == StepDone("a", "completed").round == 1
    assert StepDone("a", "failed").usage is NO_USAGE
