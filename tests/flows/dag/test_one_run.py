"""A plan is a run like any other: it ends whatever fails, loses nothing that was found, knows what an agent knows,
and counts what its steps did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flows.dag.test_agent import NO, TWO, Brain, step, verdict
from kit import add, call, echo, go
from treadle import Agent, Artifact, Budget, Conversation, DagAgent, ScriptedModel, ToolResponse, tool
from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._flows.dag.plan import Plan
from treadle._journal.memory import MemoryJournal
from treadle._plugins.memory.citations import Citations
from treadle._plugins.memory.plugin import Memory
from treadle._plugins.memory.store import MemoryStore
from treadle._types import events as ev
from treadle._types.errors import BudgetExhaustedError, ConfigError, ModelError, StructuredCallError
from treadle._types.messages import SystemMessage


class Failing(Plugin):
    """A plug-in that fails wherever it is asked."""

    name = "failing"

    async def on_start(self, run: RunContext) -> None:
        raise RuntimeError("plug-in")

    async def on_answer(self, run: RunContext, answer: str) -> str:
        raise RuntimeError("plug-in")

    async def on_end(self, run: RunContext, result: Any) -> None:
        raise RuntimeError("plug-in")


def raising(error: Exception) -> Any:
    def review(plan: Plan) -> Plan:
        raise error

    return review


ERRORS = [ModelError("gone"), RuntimeError("gone"), TimeoutError("gone"), ConfigError("gone"), KeyError("gone")]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("where", ["planner", "review", "async review"])
async def test_what_fails_before_there_is_any_work_ends_the_run_with_an_error(where: str, error: Exception):
    async def later(plan: Plan) -> Plan:
        raise error

    journal = MemoryJournal()
    review = {"review": raising(error), "async review": later}.get(where)
    plans: list[Any] = [TWO]
    brain = Brain(plans, [verdict()])
    if where == "planner":
        brain = ScriptedModel(lambda request: error)  # type: ignore[assignment]
    run = DagAgent(brain, [echo], review=review, journal=journal, retry={"attempts": 1}).start("q", run_id="r")
    result = await run
    assert (result.stop_reason, result.success) == ("error", False)
    assert "gone" in str(result.error)
    assert isinstance((await journal.load("r"))[-1].event, ev.RunFinished)
    assert [info.status for info in await journal.list(parent="")] == ["finished"]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_step_that_cannot_be_run_fails_alone(error: Exception):
    class Agents(DagAgent):
        def step_agent(self, step: Any, run: Any = None) -> Agent:
            if step.id == "a":
                raise error
            return super().step_agent(step, run)

    result = go(Agents(Brain([TWO], [verdict()]), [echo]).run("q"))
    statuses = {name: done["status"] for name, done in result.metadata["dag"]["steps"].items()}
    assert (statuses, result.answer) == ({"a": "failed", "b": "completed"}, "the answer")


def test_a_plug_in_that_fails_everywhere_does_not_end_the_run():
    result = go(DagAgent(Brain([TWO], [verdict()]), [echo], plugins=[Failing()]).run("q"))
    assert (result.answer, result.success) == ("the answer", True)


# ---- what was found is never thrown away


def test_a_new_plan_that_cannot_be_read_leaves_what_was_found():
    plans: list[Any] = [TWO]

    def reply(request: Any) -> Any:
        match request.component:
            case "planner":
                return call("make_plan", steps=plans.pop()) if plans else "no plan today"
            case "analyzer":
                return call("judge", **NO)
            case _:
                return f"did: {request.messages[-1].content}"

    result = go(DagAgent(ScriptedModel(reply), [echo]).run("q"))
    assert (result.answer, result.success) == ("do a\ndid: do a\n\ndo b\ndid: do b", False)
    assert result.stop_reason == "limit"
    assert isinstance(result.error, StructuredCallError)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("where", ["analyzer", "replan"])
def test_a_judge_or_planner_that_fails_leaves_what_was_found(where: str, error: Exception):
    plans: list[Any] = [TWO]

    def reply(request: Any) -> Any:
        match request.component:
            case "planner":
                return call("make_plan", steps=plans.pop()) if plans else error
            case "analyzer":
                return error if where == "analyzer" else call("judge", **NO)
            case _:
                return f"did: {request.messages[-1].content}"

    result = go(DagAgent(ScriptedModel(reply), [echo], retry={"attempts": 1}).run("q"))
    assert "did: do a" in result.answer
    assert "did: do b" in result.answer
    assert result.success is False


@pytest.mark.parametrize(("on_budget", "requests"), [("raise", 3), ("force_answer", 4)])
async def test_a_budget_that_is_used_up_answers_from_what_was_found(on_budget: str, requests: int):
    brain = Brain([TWO], [verdict()])
    run = DagAgent(brain, [echo], budget=Budget(requests=requests), on_budget=on_budget).start("q")
    try:
        result = await run
    except BudgetExhaustedError:
        assert on_budget == "raise"
        result = run.result()
    assert result.stop_reason == "budget"
    known = result.answer if on_budget == "raise" else str(brain.requests[-1].messages)
    assert "did: do a" in known
    assert isinstance(run.records[-1].event, ev.RunFinished)


def test_a_plan_that_is_refused_after_work_was_done_keeps_the_work():
    plans = iter([True, False])
    agent = DagAgent(Brain([TWO, TWO], [NO]), [echo], review=lambda plan: plan if next(plans) else None)
    result = go(agent.run("q"))
    assert (result.stop_reason, result.success) == ("cancelled", False)
    assert "did: do a" in result.answer


def test_what_a_step_found_before_its_limit_counts():
    def reply(request: Any) -> Any:
        match request.component:
            case "planner":
                return call("make_plan", steps=[step("a")])
            case "analyzer":
                return call("judge", **NO)
            case "final":
                return "half of it: 42"
            case _:
                return call("echo", text="42")

    result = go(DagAgent(ScriptedModel(reply), [echo], max_rounds=1, max_iterations=1).run("q"))
    assert result.answer == "do a (not finished)\nhalf of it: 42"


# ---- what an agent knows, planner, steps and judge know


def test_planner_steps_and_judge_know_system_prompt_history_and_memories():
    class Remembers(Plugin):
        name = "remembers"

        async def on_start(self, run: RunContext) -> None:
            from treadle._types.messages import UserMessage

            if not run.depth:
                await run.emit(ev.MessageAdded(UserMessage("REMEMBERED", kind="note"), self.name))

    users: list[tuple[str, str]] = []

    @tool
    async def who(context: Any = None) -> str:
        """Who asks."""
        return "x"

    class Watches(Plugin):
        name = "watches"

        async def on_start(self, run: RunContext) -> None:
            users.append((run.agent_name, run.user))

    brain = Brain([TWO], [verdict()])
    agent = DagAgent(brain, [echo], system="SYSTEM", instructions="INSTRUCTIONS", plugins=[Remembers(), Watches()])
    history = [
        {"role": "system", "content": "FROM-HISTORY"},
        {"role": "user", "content": "EARLIER"},
        {"role": "assistant", "content": "REPLY"},
    ]
    go(agent.run("q", history=history, user="ada"))
    assert brain.components == ["planner", "loop", "loop", "analyzer"]
    for request in brain.requests:
        text = str(request.messages)
        for part in ("SYSTEM", "INSTRUCTIONS", "FROM-HISTORY", "EARLIER", "REPLY"):
            assert part in text, (request.component, part)
        if request.component != "loop":
            assert "REMEMBERED" in text
    assert users == [("agent", "ada"), ("step a", "ada"), ("step b", "ada")]


async def test_a_second_turn_remembers_the_first():
    brain = Brain([TWO, TWO], [verdict(answer="Oslo"), verdict(answer="Bergen")])
    talk = Conversation(DagAgent(brain, [echo]))
    await talk.ask("the capital?")
    before = len(brain.requests)
    await talk.ask("and the next?")
    for request in brain.requests[before:]:
        assert "the capital?" in str(request.messages), request.component
        assert "Oslo" in str(request.messages), request.component


def test_overrides_of_a_run_reach_its_steps():
    brain = Brain([TWO], [verdict()], lambda question: call("echo", text="x"))
    result = go(DagAgent(brain, [echo]).run("q", max_iterations=2, on_limit="fallback"))
    assert result.iterations == 4


def test_an_output_type_is_not_asked_of_the_steps():
    brain = Brain([TWO], [verdict(answer='{"n": 1}')])
    from dataclasses import make_dataclass

    result = go(DagAgent(brain, [echo], system="S", output_type=make_dataclass("Number", [("n", int)])).run("q"))
    assert result.output.n == 1
    for request in brain.requests:
        system = request.messages[0]
        assert isinstance(system, SystemMessage)
        assert "JSON Schema" not in system.text


# ---- what the steps did counts


@tool(effect="pure")
async def draw(title: str) -> ToolResponse:
    """Draw something."""
    return ToolResponse("drawn", artifacts=(Artifact(f"{title}.svg", "<svg/>", "image/svg+xml"),))


def worker(question: str) -> Any:
    return "done" if "drawn" in question else call("draw", title=question[-1])


async def test_steps_counts_artifacts_and_costs_add_up():
    brain = Brain([TWO], [verdict()], worker)
    journal = MemoryJournal()
    run = DagAgent(brain, [draw], journal=journal).start("q", run_id="r")
    result = await run
    assert result.iterations == 4
    assert [(made.tool, made.observation[:5]) for made in result.steps] == [("draw", "drawn")] * 2
    assert len({made.call_id for made in result.steps}) == 2
    assert result.tools_used == ["draw"]
    assert {artifact.name for artifact in result.artifacts} == {"a.svg", "b.svg"}
    assert result.usage.requests == len(brain.requests) == 6
    assert result.usage.tool_calls == result.metadata["tool_calls_made"] == 2
    assert {name: part["calls"] for name, part in result.metadata["components"].items()} == {
        "planner": 1, "loop": 4, "analyzer": 1,
    }  # fmt: skip
    again = await DagAgent(ScriptedModel([]), [draw], journal=journal).resume("r")
    assert (again.iterations, again.steps, again.usage) == (result.iterations, result.steps, result.usage)


def test_what_a_step_cost_that_ran_out_of_time_or_raised_counts():
    brain = Brain([[step("a")]], [verdict()], lambda question: call("echo", text="x"))
    agent = DagAgent(brain, [echo], max_rounds=1, max_iterations=1, on_limit="raise")
    result = go(agent.run("q"))
    assert result.metadata["dag"]["steps"]["a"]["stop_reason"] == "limit"
    assert result.usage.requests == len(brain.requests) == 3
    assert [made.tool for made in result.steps] == ["echo"]


@pytest.mark.parametrize("preset", ["two_phase", "reflective"])
def test_the_answer_is_written_from_the_results_of_the_steps(preset: str):
    done = '[{"name": "__complete_task__", "arguments": {}}]' if preset == "reflective" else "x"
    written: list[Any] = []

    def reply(request: Any) -> Any:
        match request.component:
            case "planner":
                return call("make_plan", steps=TWO)
            case "analyzer":
                return call("judge", **verdict())
            case "synthesis" | "complete":
                written.append(request)
                return "WRITTEN" if len(written) == 3 else f"FOUND-{len(written)}"
            case _:
                return done

    result = go(DagAgent(ScriptedModel(reply), [echo], preset=preset).run("q"))
    assert (result.answer, result.brief) == ("WRITTEN", "the answer")
    text = str(written[-1].messages)
    assert "FOUND-1" in text
    assert "FOUND-2" in text
    assert "no tool was run" not in text


def test_one_agent_in_place_of_a_plan_writes_its_answer_once():
    brain = Brain([], [], mode="loop")
    result = go(DagAgent(brain, [echo], mode="auto", preset="two_phase").run("q"))
    assert result.success
    assert brain.components.count("synthesis") == 1


async def test_cancelling_a_plan_before_its_first_step_ends_it():
    run = DagAgent(Brain([TWO], [verdict()]), [echo]).start("q")
    run.cancel()
    result = await run
    assert (result.stop_reason, result.success) == ("cancelled", False)


async def test_two_steps_that_wait_for_a_person_are_decided_together():
    @tool(approval="ask")
    async def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    brain = Brain([TWO], [verdict()], lambda question: "done" if "paid" in question else call("pay", amount=1))
    agent = DagAgent(brain, [pay, add])
    run = agent.start("q")
    paused = await run
    assert (paused.stop_reason, len(paused.pending)) == ("paused", 2)
    result = await agent.resume(run, approve=True)
    assert (result.answer, result.tools_used, result.usage.tool_calls) == ("the answer", ["pay"], 2)


def passages(document: str) -> Any:
    @tool(name=f"search_{document}", effect="pure")
    async def search(query: str) -> str:
        """Search."""
        return json.dumps({"chunks": [{"id": 1, "document": document, "position": 0, "text": f"says {document}"}]})

    return search


def test_citations_of_the_steps_are_those_of_the_plan():
    def steps(question: str) -> Any:
        if "says one" in question:
            return "one says so [ID:1]"
        if "says two" in question:
            return "two says so [ID:2]"
        return call("search_one" if "do a" in question else "search_two", query="x")

    def reply(request: Any) -> Any:
        match request.component:
            case "planner":
                return call("make_plan", steps=[step("a"), step("b", "", "a")])
            case "analyzer":
                return call("judge", **verdict(answer="both [ID:1][ID:2], not [ID:9]"))
            case _:
                texts = [str(message) for message in request.messages]
                if "says one" in texts[-1] or "says two" in texts[-1]:
                    return steps(texts[-1])
                if any("says" in text and "'ToolMessage" in text for text in texts):
                    return steps(" ".join(texts))
                return steps("do a" if "do a" in texts[-1] and "do b" not in texts[-1] else "do b")

    agent = DagAgent(ScriptedModel(reply), [passages("one"), passages("two")], plugins=[Citations()])
    result = go(agent.run("q"))
    assert result.answer == "both [ID:1][ID:2], not"
    report = result.metadata["reports"]["citations"]
    assert sorted(passage["document"] for passage in report["cited"]) == ["one", "two"]
    assert report["removed"] == ["9"]


async def test_each_step_remembers_its_own_calls_once_and_the_next_plan_is_told(tmp_path: Path):
    store = MemoryStore(tmp_path / "memory.db")

    def brain() -> Any:
        def reply(request: Any) -> Any:
            match request.component:
                case "planner":
                    return call("make_plan", steps=TWO)
                case "analyzer":
                    return call("judge", **verdict())
                case "memory_summary":
                    return "the echo said hello to everyone"
                case _:
                    said = "hello" in str(request.messages[-1])
                    return "done" if said else call("echo", text="hello")

        return ScriptedModel(reply)

    plugins = [Memory(store, rank="text")]
    await DagAgent(brain(), [echo], plugins=plugins).run("what does the echo say?", user="ada")
    assert len(store.all("ada", 10)) == 2
    model = brain()
    await DagAgent(model, [echo], plugins=plugins).run("what does the echo say?", user="ada")
    asked = {request.component: str(request.messages) for request in model.requests}
    assert "said hello to everyone" in asked["planner"]
    assert "said hello to everyone" in asked["analyzer"]
