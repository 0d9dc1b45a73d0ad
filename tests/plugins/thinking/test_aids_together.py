"""The thinking aids together, and the presets that use them, call by call."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from kit import add, echo
from plugins.aids import HISTORY, cast, run_of
from plugins.scenes import TEXT_ONLY, Batches, components, request_text, restarted, structured
from treadle import Agent, RetryPolicy, ScriptedModel, tool
from treadle._plugins.thinking.analysis import TaskAnalysis
from treadle._plugins.thinking.observer import Observer
from treadle._plugins.thinking.planner import Planner
from treadle._plugins.thinking.reflection import Reflection
from treadle._plugins.thinking.rewrite import QuestionRewrite
from treadle._types.errors import TransientModelError
from treadle._types.events import Observed, PlanChanged, Reflected, ThinkDone


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
    run_of(Agent(model, [echo], preset="reflective"), history=HISTORY[:2])
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
        # Prose without an action is asked for again in `streaming`, before it counts as the answer.
        repairs = {"repair"} if preset == "streaming" else set[str]()
        assert set(components(model)) <= {"loop", "synthesis"} | repairs


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
        assert f"MY {name}" in request_text(first)


@pytest.mark.parametrize("preset", ["reflective", "planned"])
async def test_a_resumed_run_repeats_no_call_that_was_answered(preset: str):
    """Killed after any record: no second plan, no reflection twice, the same calls in the same order."""
    dialect = "array" if preset == "reflective" else "schema"
    first = ScriptedModel(cast(dialect, 3))
    journal = Batches()
    run = Agent(first, [echo], preset=preset, journal=journal).start("q", history=HISTORY)
    whole = await run
    script = [record.event for record in run.records if isinstance(record.event, ThinkDone)]
    for records in journal.cuts[:-1]:
        answered = [record.event.component for record in run.records[:records] if isinstance(record.event, ThinkDone)]
        left = [_again(event) for event in script[len(answered) :]]
        model = ScriptedModel(left)
        again = await restarted(Agent(model, [echo], preset=preset), run, records)
        result = await again
        assert result.answer == whole.answer, records
        assert [*answered, *components(model)] == components(first), records
        assert [step.observation for step in result.steps] == [step.observation for step in whole.steps], records
        assert again.state.plan == run.state.plan, records
        assert adviser_events(again) == adviser_events(run), records


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


@pytest.mark.parametrize("component", ["planner", "reflection", "observer"])
async def test_an_adviser_knows_the_conversation_before_and_what_is_said_meanwhile(component: str):
    @tool
    async def echo(text: str) -> str:
        """Say it again."""
        if text == "result 1":
            held[0].send("mind the GAP")
        return text

    held: list[Any] = []
    model = ScriptedModel(cast("native", 4))
    held.append(Agent(model, [echo], plugins=[Planner(), Reflection(), Observer()]).start("q", history=HISTORY))
    await held[0]
    asked = [request_text(request) for request in model.requests if request.component == component]
    assert "User: user 0" in asked[0]
    assert "Assistant: assistant 1" in asked[0]
    assert asked[-1].count("mind the GAP") == 1
