"""DAG mode: planning, execution, judgement, interrupts, the choice between a plan and a loop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from kit import call, echo, go
from treadle import Agent, DagAgent, ModelRegistry, ScriptedModel, tool
from treadle._engine.context import execution_of
from treadle._flows.dag.picture import mermaid, svg
from treadle._flows.dag.plan import DagStep, Plan, resolve
from treadle._journal.sqlite import SqliteJournal
from treadle._types.errors import ConfigError
from treadle._types.events import StepDone, StepStarted
from treadle._types.messages import text_of
from virtual_time import go_virtual, in_virtual_time


def step(name: str, task: str = "", *needs: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "task": task or f"do {name}", "dependencies": list(needs), **more}


GOOD = {"achieved": True, "confidence": 0.9, "final_answer": "the whole", "reasoning": "fine"}
BAD = {"achieved": False, "confidence": 0.2, "final_answer": "", "reasoning": "too little"}


def brain(plans: list[Any], verdicts: list[Any], steps: Any = None, **more: Any) -> ScriptedModel:
    """One model for planner, analyzer and steps: plans and verdicts in order, steps by a function of their question."""
    plans, verdicts = list(plans), list(verdicts)

    def reply(request):
        if request.component == "planner":
            return call("make_plan", steps=plans.pop(0) if len(plans) > 1 else plans[0])
        if request.component == "analyzer":
            verdict = verdicts.pop(0) if len(verdicts) > 1 else verdicts[0]
            return call("judge", **verdict) if isinstance(verdict, dict) else verdict
        if request.component == "mode":
            return call("choose_mode", mode=more.get("mode", "dag"))
        question = text_of(request.messages[-1].content) if hasattr(request.messages[-1], "content") else ""
        return steps(request, question) if steps else f"result of: {question.splitlines()[0]}"

    return ScriptedModel(reply)


def components(model: ScriptedModel) -> list[str]:
    return [request.component for request in model.requests]


def test_dangling_pruned_circles_rejected():
    plan = Plan.parse({"steps": [step("a", "x", "ghost"), step("b", "use $a", "a")]})
    assert plan.steps[0].dependencies == ()
    assert "ghost" in plan.notes[0]
    assert plan.steps[1].dependencies == ("a",)
    for steps in (
        [step("a", "", "b"), step("b", "", "a")],
        [step("a"), step("a")],
        [step(str(n)) for n in range(11)],
    ):
        with pytest.raises(ValueError, match=r"circle|same id|steps"):
            Plan.parse({"steps": steps})
    alone = Plan.parse({"steps": [step("a", "", "a")]})  # small models write this, and nothing else can be meant
    assert alone.steps[0].dependencies == ()
    assert "itself" in alone.notes[0]


def test_a_circular_plan_is_asked_for_again():
    circular, fine = [step("a", "", "b"), step("b", "", "a")], [step("a"), step("b", "", "a")]
    model = brain([circular, fine], [GOOD])
    result = go(DagAgent(model, [echo]).run("q"))
    assert result.answer == "the whole"
    assert components(model).count("planner") == 2


def test_references_to_earlier_results_by_field():
    one = DagStep("b", "Look up $a.city.name in $a.year, all of $a, $nobody", ("a",))
    text = resolve(one, {"a": '{"city": {"name": "Oslo"}, "year": 1999}'})
    assert text == 'Look up Oslo in 1999, all of {"city": {"name": "Oslo"}, "year": 1999}, $nobody'
    assert resolve(one, {"a": "plain"}).startswith("Look up plain in plain")


def test_steps_get_their_model_and_tools_by_hint_and_only_their_dependencies():
    fast, general = (
        brain([], [GOOD]),
        brain([[step("a", "", model_hint="fast", tool_hint="echo"), step("b", "", "a"), step("c")]], [GOOD]),
    )
    registry = ModelRegistry()
    registry.register("main", general, "general")
    registry.register("quick", fast, "fast")

    @tool
    async def other() -> str:
        """Other."""
        return ""

    result = go(DagAgent(registry, [echo, other]).run("q"))
    assert result.success
    assert components(fast) == ["loop"]
    assert [t.name for t in fast.requests[0].tools] == ["echo"]
    loops = [r for r in general.requests if r.component == "loop"]
    assert [t.name for t in loops[0].tools] == ["echo", "other"]
    b = next(text_of(r.messages[-1].content) for r in loops if "do b" in text_of(r.messages[-1].content))
    assert "result of: do a" in b
    assert "do c" not in b
    unknown = brain([[step("a", "", model_hint="nonsense", tool_hint="nothing"), step("b")]], [GOOD])
    assert go(DagAgent(unknown, [echo]).run("q")).success


def test_failures_skip_dependants_only_and_running_out_is_a_failure():
    def steps(request, question):
        return (
            call("echo", text=str(len(request.messages))) if "do a" in text_of(request.messages[0].content) else "fine"
        )

    model = brain([[step("a"), step("b", "", "a"), step("c", "", "b"), step("d")]], [BAD], steps)
    result = go(DagAgent(model, [echo], max_iterations=2, on_limit="fallback", max_rounds=1).run("q"))
    status = {name: done["status"] for name, done in result.metadata["dag"]["steps"].items()}
    assert status == {"a": "failed", "b": "skipped", "c": "skipped", "d": "completed"}
    assert result.metadata["dag"]["steps"]["a"]["error"].startswith("limit:")
    assert result.stop_reason == "limit"
    assert "fine" in result.answer  # the best answer from completed steps


def test_a_step_that_times_out_fails_alone():
    @tool(timeout=None)
    async def hang() -> str:
        """Hang."""
        await asyncio.sleep(60)
        return ""

    model = brain([[step("a"), step("b")]], [BAD], lambda r, q: call("hang") if "do a" in q else "fine")
    result, seconds = go_virtual(DagAgent(model, [hang], step_timeout=0.2, max_rounds=1).run("q"))
    assert seconds == pytest.approx(0.2)
    done = result.metadata["dag"]["steps"]
    assert {name: one["status"] for name, one in done.items()} == {"a": "failed", "b": "completed"}
    assert (done["a"]["error"], done["a"]["elapsed"]) == ("timed out after 0.2 s", pytest.approx(0.2))


def test_three_rounds_when_asked_for_three_and_finished_work_is_kept():
    ran: list[str] = []

    def steps(request, question):
        ran.append(question.splitlines()[0])
        return "x"

    model = brain([[step("a"), step("b")], [step("a"), step("c")], [step("a"), step("d")]], [BAD], steps)
    result = go(DagAgent(model, [echo], max_rounds=3).run("q"))
    assert components(model).count("planner") == 3
    assert components(model).count("analyzer") == 3
    assert ran == ["do a", "do b", "do c", "do d"]  # a is not run again
    assert result.metadata["dag"]["rounds"] == 3
    assert not result.success
    second = next(r for r in [r for r in model.requests if r.component == "planner"][1:2])
    assert "do b" in text_of(second.messages[-1].content)
    assert "too little" in text_of(second.messages[-1].content)


def test_confidence_is_clamped_and_an_unreadable_judgement_means_no():
    sure = brain([[step("a"), step("b")]], [{**BAD, "confidence": 7.5, "final_answer": "sure"}])
    result = go(DagAgent(sure, [echo]).run("q"))
    assert result.metadata["dag"]["verdict"]["confidence"] == 1.0
    assert result.answer == "sure"
    mumbling = brain([[step("a"), step("b")]], ["no idea"])
    result = go(DagAgent(mumbling, [echo], max_rounds=1).run("q"))
    assert result.metadata["dag"]["verdict"]["achieved"] is False
    assert not result.success
    assert "result of: do a" in result.answer


@in_virtual_time
async def test_an_interrupt_replans_for_free_and_cancel_stops_steps():
    dag_run = None

    def steps(request, question):
        if "do a" in question:
            dag_run.send("only Europe, please")
        return "x"

    model = brain([[step("a"), step("b", "", "a")], [step("c"), step("d")]], [GOOD], steps)
    dag_run = DagAgent(model, [echo], max_rounds=1).start("q")
    result = await dag_run
    assert components(model).count("planner") == 2
    assert result.metadata["dag"]["rounds"] == 1
    again = [r for r in model.requests if r.component == "planner"][1]
    assert "only Europe" in text_of(again.messages[-1].content)

    @tool(timeout=None)
    async def hang() -> str:
        """Hang."""
        await asyncio.sleep(60)
        return ""

    run = DagAgent(brain([[step("a"), step("b")]], [GOOD], lambda r, q: call("hang")), [hang]).start("q")
    await asyncio.sleep(1)  # of the virtual clock: until everything waits
    run.cancel()
    result = await run
    assert result.stop_reason == "cancelled"
    assert not execution_of(run.context).life.children


def test_auto_mode_chooses():
    loop = brain([[step("a"), step("b")]], [GOOD], mode="loop")
    result = go(DagAgent(loop, [echo], mode="auto").run("simple?"))
    assert components(loop) == ["mode", "loop"]
    assert result.answer.startswith("result of: simple?")
    dag = brain([[step("a"), step("b")]], [GOOD], mode="dag")
    assert go(DagAgent(dag, [echo], mode="auto").run("q")).answer == "the whole"
    assert components(dag)[:2] == ["mode", "planner"]


def test_a_plan_can_be_reviewed_edited_rejected_and_run_from_a_file(tmp_path: Path):
    model = brain([[step("a"), step("b")]], [GOOD])
    seen: list[Plan] = []

    def shorten(plan: Plan) -> Plan:
        seen.append(plan)
        return Plan(plan.steps[:1])

    result = go(DagAgent(model, [echo], review=shorten).run("q"))
    assert [s.id for s in seen[0].steps] == ["a", "b"]
    assert list(result.metadata["dag"]["steps"]) == ["a"]
    rejected = go(DagAgent(brain([[step("a"), step("b")]], [GOOD]), [echo], review=lambda plan: None).run("q"))
    assert (rejected.stop_reason, rejected.answer) == ("cancelled", "The plan was rejected.")
    seen[0].save(tmp_path / "plan.json")
    model = brain([], [GOOD])
    result = go(DagAgent(model, [echo]).run("q", plan=Plan.load(tmp_path / "plan.json")))
    assert "planner" not in components(model)
    assert set(result.metadata["dag"]["steps"]) == {"a", "b"}
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(ConfigError, match="not a plan"):
        Plan.load(tmp_path / "bad.json")


@tool(timeout=None, effect="pure")
async def half() -> str:
    """Half a second."""
    await asyncio.sleep(0.5)
    return "done"


def napping(request, question):
    return "ok" if len(request.messages) > 1 and "done" in str(request.messages[-1]) else call("half")


def test_six_independent_steps_take_the_time_of_one():
    model = brain([[step(f"s{n}") for n in range(6)]], [GOOD], napping)
    result, seconds = go_virtual(DagAgent(model, [half], max_steps_at_once=6).run("q"))
    assert result.success
    assert seconds == pytest.approx(0.5)


def test_a_diamond_takes_its_critical_path():
    model = brain([[step("a"), step("b", "", "a"), step("c", "", "a"), step("d", "", "b", "c")]], [GOOD], napping)
    result, seconds = go_virtual(DagAgent(model, [half]).run("q"))
    assert result.success
    assert seconds == pytest.approx(1.5)


async def test_a_killed_plan_goes_on_with_what_was_not_finished(tmp_path: Path):
    """The log is cut while steps are under way, as a kill would leave it; resumed, finished steps are not run again."""
    journal = SqliteJournal(tmp_path / "j.db")
    plan = [step("a"), step("b"), step("c", "", "a", "b")]
    first = DagAgent(brain([plan], [GOOD]), [echo], journal=journal)
    run = first.start("q")
    await run
    done_a = next(r.seq for r in run.records if isinstance(r.event, StepDone) and r.event.step == "a")
    await journal.append([type(r)("copy", r.seq, r.time, r.event) for r in run.records if r.seq <= done_a])
    ran: list[str] = []

    def steps(request, question):
        ran.append(question.splitlines()[0])
        return "again"

    model = brain([plan], [GOOD], steps)
    result = await DagAgent(model, [echo], journal=journal).resume("copy")
    assert result.answer == "the whole"
    assert "do a" not in ran
    assert "do c" in ran
    assert "planner" not in components(model)
    await journal.aclose()


async def test_the_picture_comes_from_the_log():
    run = DagAgent(brain([[step("a", "find <it>"), step("b", "", "a")]], [GOOD]), [echo]).start("q")
    await run
    text = mermaid(run.records)
    assert "a --> b" in text
    assert ":::completed" in text
    drawn = svg(run.records)
    assert drawn.count("<rect") == 2
    assert "find &lt;it&gt;" in drawn
    half_way = run.records[: next(i for i, r in enumerate(run.records) if isinstance(r.event, StepStarted)) + 1]
    assert ":::running" in mermaid(half_way)
    assert ":::waiting" in mermaid(half_way)


def test_one_budget_for_all_steps():
    from treadle import Budget

    model = brain([[step(f"s{n}") for n in range(8)]], [GOOD])
    result = go(DagAgent(model, [echo], budget=Budget(requests=5), on_budget="force_answer", max_tokens=50).run("q"))
    assert result.usage.requests <= 5
    assert len(model.requests) <= 5


def test_a_dag_agent_is_an_agent():
    inside = DagAgent(brain([[step("a")]], [GOOD]), [echo], name="planner")
    model = ScriptedModel([call("planner", user_prompt="q", reasoning="r", context="c"), "seen"])
    go(Agent(model, [inside]).run("q"))
    assert "the whole" in text_of(model.requests[-1].messages[-1].content)
    assert isinstance(inside, Agent)
