"""Experiments: safe effects, equal requests asked once, a hard limit, and going on where a search was stopped."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treadle import Agent, ConfigError, Plugin, RunContext, ScriptedModel, Tool
from treadle._engine.result import RunResult
from treadle._inspect.compare import compare
from treadle._inspect.replay import replay
from treadle._inspect.why.budgeted_model import SearchBudget
from treadle._inspect.why.changes import Change
from treadle._inspect.why.experiments import Lab
from treadle._inspect.why.judges import expected
from treadle._journal.memory import MemoryJournal
from treadle._plugins.guards.loop_guard import LoopGuard
from treadle._types.errors import BudgetExhaustedError
from treadle._types.events import Noted
from treadle._types.request import Request

EFFECTS = ("pure", "idempotent", "unsafe")


def tools_of(ran: list[str]) -> list[Tool]:
    def made(effect: str) -> Tool:
        def execute(**arguments: Any) -> str:
            ran.append(effect)
            return f"{effect} {sorted(arguments.items())}"

        return Tool(effect, f"a tool that is {effect}", {"type": "object", "properties": {"n": {"type": "integer"}}},
                    execute, effect=effect)  # type: ignore[arg-type]  # fmt: skip

    return [made(effect) for effect in EFFECTS]


def caller(seed: int) -> Any:
    """A model that calls whatever it likes, differently for each request."""

    def reply(request: Request) -> Any:
        chance = random.Random(f"{seed} {len(request.messages)} {request.messages}")
        if len(request.messages) > 8 or chance.random() < 0.2:
            return "done"
        return [
            {"name": chance.choice([*EFFECTS, "no_such_tool"]), "args": {"n": chance.randrange(3)}}
            for _ in range(chance.randrange(1, 3))
        ]

    return reply


async def lab_for(agent: Agent[Any, Any], question: str = "go", *, requests: int = 100, answer: str = "right") -> Lab:
    journal = agent.journal
    result = await agent.run(question)
    return Lab(agent, await journal.load(result.run_id), expected(answer), SearchBudget(requests), journal=journal)


CHANGES = [
    Change("nothing"),
    Change("prompt", before="Be brief."),
    Change("tools", "pure"),
    Change("setting", "temperature", value=0.5),
    Change("dialect", "json"),
    Change("guard", "loop_guard"),
    Change("description", "unsafe", before="a tool"),
]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10**6), st.sampled_from(CHANGES))
def test_nothing_with_an_effect_ever_runs(seed: int, change: Change):
    """Whatever a model calls, from whichever step on, with whatever changed."""

    async def scenario() -> None:
        ran: list[str] = []
        agent = Agent(ScriptedModel(caller(seed)), tools_of(ran), system="Be brief.", journal=MemoryJournal())
        lab = await lab_for(agent)
        # Another model than the one that was recorded, so that the calls are others too.
        agent.models = (ScriptedModel(caller(seed + 1)),)
        ran.clear()
        await lab.try_all([(change, step) for step in (0, *lab.steps)])
        assert set(ran) <= {"pure"}
        for experiment in lab.done:
            assert set(experiment.ran) <= {"pure"}

    asyncio.run(scenario())


class Diary(Plugin):
    """A plug-in of a user, with effects at the end of each run."""

    name = "diary"

    def __init__(self) -> None:
        self.written: list[str] = []

    async def on_end(self, run: RunContext, result: RunResult[Any]) -> None:
        self.written.append(result.answer)


class LoudGuard(LoopGuard):
    """It extends a plug-in that says it is harmless; that does not make it so."""

    def __init__(self, heard: list[str]) -> None:
        super().__init__()
        self.heard = heard

    async def on_end(self, run: RunContext, result: RunResult[Any]) -> None:
        self.heard.append(result.answer)


async def test_plug_ins_with_effects_take_no_part():
    heard: list[str] = []
    diary = Diary()
    agent = Agent(ScriptedModel(lambda _: "x"), None, plugins=[diary, LoudGuard(heard)], journal=MemoryJournal())
    lab = await lab_for(agent)
    assert (diary.written, heard) == (["x"], ["x"])
    await lab.try_one(Change("nothing"), 1)
    assert (diary.written, heard) == (["x"], ["x"])
    assert {"diary", "loop_guard"} <= set(lab.left_out)


async def test_results_come_from_the_log_and_what_is_not_there_is_unknown():
    ran: list[str] = []

    def rule(request: Request) -> Any:
        other = "Change." not in str(request.messages[0])
        results = [m for m in request.messages if type(m).__name__ == "ToolMessage"]
        if not results:
            return {"name": "unsafe", "args": {"n": 1}}
        if other and len(results) == 1:
            return {"name": "unsafe", "args": {"n": 2}}
        return "right: " + str(results[-1].content)  # type: ignore[attr-defined]

    agent = Agent(ScriptedModel(rule), tools_of(ran), system="Stay.\nChange.", journal=MemoryJournal())
    lab = await lab_for(agent)
    assert ran == ["unsafe"]
    same = await lab.try_one(Change("nothing"), 1)
    assert same.answer == "right: unsafe [('n', 1)]"
    assert same.unknown == ()
    other = await lab.try_one(Change("prompt", before="Change."), 1)
    assert other.unknown == ("unsafe",)
    assert "is not known" in other.answer
    assert ran == ["unsafe"], "it ran in the recorded run only"


async def test_equal_requests_are_asked_once_and_trials_are_not_equal():
    model = ScriptedModel(lambda _: "x")
    lab = await lab_for(Agent(model, None, system="One.\nTwo.", journal=MemoryJournal()))
    before = len(model.requests)
    await lab.try_all([(Change("nothing"), 1), (Change("setting", "max_iterations", value=9), 1)])
    assert len(model.requests) - before == 1
    assert (lab.budget.requests, lab.budget.reused) == (1, 1)
    lab.trials = 3
    experiment = await lab.try_one(Change("prompt", before="Two."), 1)
    assert experiment.trials == 3
    assert len(model.requests) - before == 4


async def test_the_limit_is_never_passed_and_the_search_goes_on_from_there():
    ran: list[str] = []
    model = ScriptedModel(caller(3))
    journal = MemoryJournal()
    agent = Agent(model, tools_of(ran), system="\n".join(f"Rule {n}." for n in range(6)), journal=journal)
    lab = await lab_for(agent, requests=4)
    recorded = len(model.requests)
    changes = [(Change("prompt", before=f"Rule {n}."), 1) for n in range(6)]
    finished = await lab.try_all(changes)
    assert len(model.requests) - recorded <= 4
    assert len(finished) < 6
    with pytest.raises(BudgetExhaustedError):
        await lab.try_one(Change("nothing"), 1)
    again = Lab(agent, lab.records, lab.judge, SearchBudget(200), journal=journal)
    every = await again.try_all(changes)
    assert len(every) == 6
    once = await Lab(agent, lab.records, lab.judge, SearchBudget(1), journal=journal).try_all(changes)
    assert [(e.change, e.answer) for e in once] == [(e.change, e.answer) for e in every], "read, not run again"


async def test_an_experiment_is_a_run_that_can_be_compared_and_replayed():
    ran: list[str] = []
    agent = Agent(ScriptedModel(caller(1)), tools_of(ran), system="Be brief.\nBe kind.", journal=MemoryJournal())
    lab = await lab_for(agent)
    for change in (Change("prompt", before="Be kind."), Change("tools", "pure"), Change("dialect", "json")):
        experiment = await lab.try_one(change, lab.steps[-1])
        records = await lab.journal.load(experiment.runs[0])
        assert replay(records).same, str(replay(records).difference)
        assert any(isinstance(r.event, Noted) and r.event.component == "experiment" for r in records)
        assert (await compare(lab.journal, lab.records[0].run, experiment.runs[0])).common > 0
        assert await lab.difference(experiment)


async def test_an_experiment_is_no_part_of_the_conversation():
    agent = Agent(ScriptedModel(lambda _: "x"), None, journal=(journal := MemoryJournal()))
    result = await agent.run("q", conversation="talk")
    lab = Lab(agent, await journal.load(result.run_id), expected("right"), SearchBudget(9), journal=journal)
    await lab.try_one(Change("nothing"), 1)
    assert [info.run_id for info in await journal.list(conversation="talk")] == [result.run_id]


def _wrong(lab: Lab) -> Sequence[tuple[Change, int, str]]:
    return [
        (Change("prompt", before="not there"), 1, "no 'not there' to change"),
        (Change("tools", "nothing"), 1, "not offered"),
        (Change("result", "x", "a", "b", 99), 1, "record 99"),
        (Change("nothing"), 7, "no step 7"),
    ]


async def test_a_change_that_cannot_be_made_is_an_error_that_says_so():
    lab = await lab_for(Agent(ScriptedModel(lambda _: "x"), None, system="S", journal=MemoryJournal()))
    for change, step, message in _wrong(lab):
        with pytest.raises(ConfigError, match=message):
            await lab.try_one(change, step)
