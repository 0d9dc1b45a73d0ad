"""Thinking aids: rewriting, analysis, reflection, plan, observer, and the presets that use them."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from kit import add, echo, go, user_texts
from treadle import Agent, Budget, RetryPolicy, ScriptedModel
from treadle._plugins.thinking.analysis import TaskAnalysis
from treadle._plugins.thinking.observer import Observer
from treadle._plugins.thinking.planner import Planner
from treadle._plugins.thinking.reflection import Reflection
from treadle._plugins.thinking.rewrite import QuestionRewrite
from treadle._types.errors import TransientModelError
from treadle._types.events import MessageAdded, Observed, PlanChanged, Reflected, ThinkDone
from treadle._types.request import Request

from .scenes import TEXT_ONLY, Batches, answer_in, components, in_dialect, restarted, said, structured

STEPS = ["find the number", "double it"]


def cast(dialect: str, rounds: int, **replies: Any) -> Any:
    """A model that works for so many rounds, then answers, and plays every adviser on the side."""
    turns = 0

    def reply(request: Request) -> Any:
        nonlocal turns
        given = replies.get(request.component)
        if given is not None:
            return given(request) if callable(given) else given
        match request.component:
            case "loop":
                turns += 1
                return (
                    in_dialect(dialect, "echo", text=f"result {turns}") if turns <= rounds else answer_in(dialect, "42")
                )
            case "planner":
                done = min(turns, len(STEPS))
                return structured(
                    request, {"steps": [{"text": text, "done": place < done} for place, text in enumerate(STEPS)]}
                )
            case "observer":
                return structured(request, {"is_progressing": True, "is_in_loop": False, "reasoning": "fine"})
            case name:
                return f"{name} says so"

    return reply


def run_of(agent: Agent, question: str = "What is it?", **options: Any) -> tuple[Any, Any]:
    held: list[Any] = []

    async def main() -> Any:
        held.append(agent.start(question, **options))
        return await held[0]

    return go(main()), held[0]


HISTORY = [{"role": role, "content": f"{role} {n}"} for n in range(2) for role in ("user", "assistant")]


# ---- the presets, call by call


@pytest.mark.parametrize("abilities", [{}, TEXT_ONLY])
def test_reflective_call_by_call(abilities: dict[str, Any]):
    model = ScriptedModel(cast("array", 2), abilities=abilities)
    result, _ = run_of(Agent(model, [echo], preset="reflective"))
    assert components(model) == ["analysis", "loop", "reflection", "loop", "reflection", "loop", "complete"]
    assert result.answer == "complete says so"
    assert result.iterations == 3


def test_reflective_rewrites_the_question_in_a_longer_conversation():
    model = ScriptedModel(cast("array", 2))
    run_of(Agent(model, [echo], preset="reflective"), history=HISTORY)
    assert components(model) == ["rewrite", "analysis", "loop", "reflection", "loop", "reflection", "loop", "complete"]
    model = ScriptedModel(cast("array", 2))
    run_of(Agent(model, [echo], preset="reflective"), history=HISTORY[:3])
    assert components(model)[0] == "analysis"


def test_reflective_at_its_limit_of_five_and_one_rounds():
    model = ScriptedModel(cast("array", 99))
    result, _ = run_of(Agent(model, [echo], preset="reflective"))
    assert components(model) == ["analysis", *["loop", "reflection"] * 6, "final"]
    assert result.stop_reason == "limit"
    assert result.answer


def test_planned_call_by_call():
    model = ScriptedModel(cast("schema", 2))
    result, run = run_of(Agent(model, [echo], preset="planned"))
    assert components(model) == [
        "planner",
        "loop", "planner",
        "loop", "planner",
        "loop", "planner", "observer",
        "planner",
    ]  # fmt: skip
    assert result.answer == "42"
    assert result.task_successful is True
    plans = [record.event for record in run.records if isinstance(record.event, PlanChanged)]
    assert [sum(step.done for step in plan.steps) for plan in plans] == [0, 1, 2, 2, 2]


def test_planned_at_its_limit():
    model = ScriptedModel(cast("schema", 99))
    result, _ = run_of(Agent(model, [echo], preset="planned", max_iterations=3, summarize_progress=True))
    assert components(model) == [
        "planner",
        "loop",
        "planner",
        "loop",
        "planner",
        "loop",
        "planner",
        "observer",
        "salvage",
    ]
    assert result.stop_reason == "limit"
    assert not result.success
    quiet = ScriptedModel(cast("schema", 99))
    run_of(Agent(quiet, [echo], preset="planned", max_iterations=3))
    assert components(quiet)[-1] == "observer", "the summary of progress is off by default"


def test_the_other_presets_ask_nobody_else():
    for preset, dialect in (
        ("default", "native"),
        ("two_phase", "native"),
        ("streaming", "action"),
        ("strict", "native"),
    ):
        model = ScriptedModel(cast(dialect, 3))
        run_of(Agent(model, [echo, add], preset=preset))
        assert set(components(model)) <= {"loop", "synthesis"}


# ---- each on its own


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


@pytest.mark.parametrize("failing", ["rewrite", "analysis", "planner", "observer", "reflection"])
def test_a_failing_aid_is_logged_and_ignored(failing: str, caplog: pytest.LogCaptureFixture):
    error = TransientModelError("down", status=503)
    model = ScriptedModel(cast("native", 4, **{failing: error}))
    plugins = [QuestionRewrite(), TaskAnalysis(), Planner(), Reflection(), Observer()]
    with caplog.at_level(logging.WARNING, "treadle"):
        result, _ = run_of(Agent(model, [echo], plugins=plugins, retry=RetryPolicy(attempts=1)), history=HISTORY)
    assert result.answer == "42"
    assert result.success
    assert any(failing in record.getMessage() for record in caplog.records)
    others = {"rewrite", "analysis", "planner", "observer", "reflection"} - {failing}
    assert others <= set(components(model))


def test_aids_that_talk_nonsense_are_ignored_too():
    model = ScriptedModel(cast("native", 4, planner="no plan today", observer="??"))
    result, run = run_of(Agent(model, [echo], plugins=[Planner(), Observer()]))
    assert result.answer == "42"
    assert run.state.plan == ()


def test_each_aid_is_counted_on_its_own():
    model = ScriptedModel(cast("native", 4))
    plugins = [QuestionRewrite(), TaskAnalysis(), Planner(), Reflection(), Observer()]
    result, _ = run_of(Agent(model, [echo], plugins=plugins), history=HISTORY)
    spent = result.metadata["components"]
    for name in ("rewrite", "analysis", "planner", "reflection", "observer", "loop"):
        assert spent[name]["calls"] == components(model).count(name)
        assert spent[name]["usage"].output_tokens > 0
        assert spent[name]["elapsed"] > 0
    assert sum(part["usage"].requests for part in spent.values()) == result.usage.requests == len(model.requests)


def test_words_can_be_replaced():
    prompts = {name: f"MY {name}" for name in ("rewrite", "task_analysis", "plan_generation", "reflection", "observer")}
    model = ScriptedModel(cast("native", 4))
    plugins = [QuestionRewrite(), TaskAnalysis(), Planner(), Reflection(), Observer()]
    run_of(Agent(model, [echo], plugins=plugins, prompts=prompts), history=HISTORY)
    for component, name in zip(("rewrite", "analysis", "planner", "reflection", "observer"), prompts, strict=True):
        first = next(request for request in model.requests if request.component == component)
        assert f"MY {name}" in said(first)


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


def test_the_plan_is_in_the_conversation_and_follows_the_work():
    model = ScriptedModel(cast("native", 2))
    _, run = run_of(Agent(model, [echo], plugins=[Planner()]))
    loop = [request for request in model.requests if request.component == "loop"]
    assert "[ ] 1. find the number" in said(loop[0])
    assert "[x] 1. find the number\n[ ] 2. double it" in said(loop[1])
    updates = [request for request in model.requests if request.component == "planner"]
    assert "result 1" in said(updates[1])
    assert "42" in said(updates[-1])
    assert all(step.done for step in run.state.plan)
    added = [record.event for record in run.records if isinstance(record.event, MessageAdded)]
    assert len(added) == 3, "a plan that did not change is not repeated"


def test_the_observer_looks_when_it_is_due_and_corrects_what_goes_wrong():
    def observer(request: Request) -> Any:
        astray = "result 3" in said(request) and "result 4" not in said(request)
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


@pytest.mark.parametrize("preset", ["reflective", "planned"])
def test_a_resumed_run_repeats_no_call_that_was_answered(preset: str):
    """Killed after any record: no second plan, no reflection twice, the same calls in the same order."""

    async def main() -> None:
        dialect = "array" if preset == "reflective" else "schema"
        first = ScriptedModel(cast(dialect, 3))
        journal = Batches()
        run = Agent(first, [echo], preset=preset, journal=journal).start("q", history=HISTORY)
        whole = await run
        script = [record.event for record in run.records if isinstance(record.event, ThinkDone)]
        for records in journal.cuts[:-1]:
            answered = [
                record.event.component for record in run.records[:records] if isinstance(record.event, ThinkDone)
            ]
            left = [_again(event) for event in script[len(answered) :]]
            model = ScriptedModel(left)
            again = await restarted(Agent(model, [echo], preset=preset), run, records)
            result = await again
            assert result.answer == whole.answer, records
            assert [*answered, *components(model)] == components(first), records
            assert [step.observation for step in result.steps] == [step.observation for step in whole.steps], records
            assert again.state.plan == run.state.plan, records
            assert adviser_events(again) == adviser_events(run), records

    go(main(), limit=100)


def adviser_events(run: Any) -> list[str]:
    return [
        type(record.event).__name__
        for record in run.records
        if isinstance(record.event, PlanChanged | Reflected | Observed)
    ]


def _again(event: ThinkDone) -> Any:
    """A recorded reply as the model gave it."""
    message = event.message
    if not message.calls or event.component == "loop":
        return message.text
    return lambda request: structured(request, _arguments(message.calls[0]))


def _arguments(made: Any) -> Any:
    import msgspec

    return msgspec.json.decode(made.raw) if made.raw else made.args


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


def test_an_adviser_leaves_what_the_last_answer_needs():
    model = ScriptedModel(cast("native", 9))
    result, _ = run_of(
        Agent(model, [echo], plugins=[Reflection()], budget=Budget(requests=4), on_budget="force_answer")
    )
    assert components(model) == ["loop", "reflection", "loop", "final"]
    assert result.stop_reason == "budget"
    assert result.answer == "final says so"
