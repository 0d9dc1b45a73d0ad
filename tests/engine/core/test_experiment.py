"""A log that says "experiment" keeps effects out, whoever drives it and however it came about."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treadle import Agent, ConfigError, Plugin, RunContext, ScriptedModel, Tool, ToolContext, fork
from treadle._engine.context import execution_of
from treadle._engine.core.blueprint import Origin
from treadle._engine.core.experiment import EXPERIMENT, experiment_mark
from treadle._engine.loop.driver import Loop
from treadle._engine.run import new_run
from treadle._inspect.replay import fork_at_record
from treadle._journal.memory import MemoryJournal
from treadle._tools.base import ToolOutcome
from treadle._types.events import MessageAdded, Noted, Record, RunFinished, ToolStarted
from treadle._types.messages import ToolCall, UserMessage
from treadle._types.request import Request

KINDS = ("pure", "idempotent", "unsafe", "unmarked", "holds_run", "asks", "nests")


def tools_of(ran: list[str]) -> list[Tool]:
    """One of each kind; only the first may run in an experiment."""

    def body(kind: str) -> Any:
        def execute(**arguments: Any) -> str:
            ran.append(kind)
            return f"{kind} {sorted(arguments.items())}"

        return execute

    async def holds_run(context: ToolContext, n: int = 0) -> str:
        ran.append("holds_run")
        return "held"

    async def nests(context: ToolContext, n: int = 0) -> str:
        ran.append("nests")
        await context.run.nested_calls(context.call_id).call("unsafe", {"n": n})
        return "nested"

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    effects: dict[str, Any] = {"pure": "pure", "idempotent": "idempotent", "unsafe": "unsafe", "asks": "pure"}
    made = [
        Tool(kind, f"it is {kind}", schema, body(kind), **({"effect": effects[kind]} if kind in effects else {}))
        for kind in ("pure", "idempotent", "unsafe", "unmarked", "asks")
    ]
    made[-1] = made[-1].replace(approval="ask")
    made.append(Tool("holds_run", "it gets the run", schema, holds_run, effect="pure", context_param="context"))
    made.append(Tool("nests", "it calls another", schema, nests, effect="pure", context_param="context"))
    return made


class Loud(Plugin):
    """A user's plug-in with effects in every hook."""

    name = "loud"

    def __init__(self, ran: list[str]) -> None:
        self.ran = ran

    async def on_start(self, run: RunContext) -> None:
        self.ran.append("hook")

    async def on_resume(self, run: RunContext) -> None:
        self.ran.append("hook")

    async def before_round(self, run: RunContext) -> None:
        self.ran.append("hook")

    async def before_tool(self, run: RunContext, call: ToolCall) -> ToolCall | ToolOutcome:
        self.ran.append("hook")
        return call

    async def on_approval(self, run: RunContext, call: ToolCall) -> bool:
        self.ran.append("hook")
        return True


class Sending(Plugin):
    """One that says it is harmless, and sends calls to another tool."""

    name = "sending"
    harmless = True

    async def before_tool(self, run: RunContext, call: ToolCall) -> ToolCall:
        return ToolCall(call.id, "unsafe", call.args) if call.args.get("n") == 1 else call


def caller(seed: int) -> Any:
    def reply(request: Request) -> Any:
        chance = random.Random(f"{seed} {len(request.messages)}")
        if len(request.messages) > 7 or chance.random() < 0.15:
            return "done"
        return [
            {"name": chance.choice(KINDS), "args": {"n": chance.randrange(3)}} for _ in range(chance.randrange(1, 4))
        ]

    return reply


async def marked_fork(journal: Any, run_id: str, cut: int) -> str:
    """An experiment that is not finished, as a search that was killed leaves it."""
    records = await journal.load(run_id)
    return await fork_at_record(journal, records, cut, events=[Noted(EXPERIMENT, {"of": run_id, "step": 1})])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 10**6), cut=st.integers(1, 12), again=st.integers(0, 2), plugins=st.sampled_from([0, 1, 2, 3])
)
def test_nothing_with_an_effect_runs_in_it_whoever_drives_it(seed: int, cut: int, again: int, plugins: int):
    """The engine drives it without any search around it, several times, as one that was copied before and after."""

    async def scenario() -> None:
        ran: list[str] = []
        journal = MemoryJournal()
        given_plugins = [*([Loud(ran)] if plugins & 1 else []), *([Sending()] if plugins & 2 else [])]
        agent = Agent(ScriptedModel(caller(seed)), tools_of(ran), plugins=given_plugins, journal=journal)
        first = await agent.run("go")
        records = await journal.load(first.run_id)
        experiment = await marked_fork(journal, first.run_id, min(cut, len(records) - 1))
        for number in range(again):  # forks of forks, as a program would write them by hand
            copied = f"copy{number}"
            source = await journal.load(experiment)
            await journal.append([Record(copied, r.seq, r.time, r.event) for r in source])
            experiment = copied
        ran.clear()
        other = Agent(ScriptedModel(caller(seed + 1)), tools_of(ran), plugins=given_plugins, journal=journal)
        for _ in range(2):
            with contextlib.suppress(ConfigError):
                await other.resume(experiment)  # refused: only a search goes on with it
            await _drive(other, experiment, journal)
        assert set(ran) <= {"pure"}, ran
        after = await journal.load(experiment)
        mark = next(r.seq for r in after if isinstance(r.event, Noted) and r.event.component == EXPERIMENT)
        assert {r.event.name for r in after if isinstance(r.event, ToolStarted) and r.seq > mark} <= {"pure"}

    asyncio.run(scenario())


async def _drive(agent: Agent[Any, Any], run_id: str, journal: Any) -> None:
    """As the engine drives a run that somebody has loaded, without the agent's own refusal."""
    blueprint = agent._blueprint(agent.settings, [])  # pyright: ignore[reportPrivateUsage]
    run = new_run(blueprint, Origin(run_id=run_id, question="go"), journal=journal, records=await journal.load(run_id))
    run.begin(Loop())
    with contextlib.suppress(Exception):
        await run


async def an_experiment(ran: list[str]) -> tuple[Agent[Any, Any], MemoryJournal, str]:
    journal = MemoryJournal()
    agent = Agent(ScriptedModel(caller(5)), tools_of(ran), journal=journal)
    first = await agent.run("go")
    return agent, journal, await marked_fork(journal, first.run_id, 1)


async def test_only_a_search_goes_on_with_an_experiment_and_nobody_forks_one():
    agent, journal, experiment = await an_experiment([])
    with pytest.raises(ConfigError, match=r"is an experiment with run .* `treadle runs why"):
        await agent.resume(experiment)
    with pytest.raises(ConfigError, match="is an experiment: fork the run it was made with"):
        await fork_at_record(journal, await journal.load(experiment), 1)
    with pytest.raises(ConfigError, match=r"no step|is an experiment"):
        await fork(journal, experiment, 1)


async def test_a_finished_experiment_can_be_read_by_anybody():
    agent, journal, experiment = await an_experiment([])
    last = (await journal.load(experiment))[-1].seq
    await journal.append([Record(experiment, last + 1, time.time(), RunFinished("answer", "so"))])
    assert (await agent.resume(experiment)).answer == "so"


async def test_the_mark_and_the_fork_are_one_write():
    _, journal, experiment = await an_experiment([])
    assert experiment_mark(await journal.load(experiment)) is not None

    class Cut(MemoryJournal):
        async def append(self, records: Any) -> None:
            assert experiment_mark(records) is not None, "never a fork without its mark"
            await super().append(records)

    records = [Record("x", r.seq, r.time, r.event) for r in await journal.load(experiment) if r.seq < 2]
    await fork_at_record(Cut(), records[:1], 1, events=[Noted(EXPERIMENT, {"of": "x"})])


async def test_a_run_inside_an_experiment_is_one_too():
    ran: list[str] = []
    journal = MemoryJournal()
    agent = Agent(ScriptedModel(caller(5)), tools_of(ran), journal=journal)
    first = await agent.run("go")
    experiment = await marked_fork(journal, first.run_id, 1)
    blueprint = agent._blueprint(agent.settings, [])  # pyright: ignore[reportPrivateUsage]
    origin = Origin(run_id=experiment, question="go")
    outer = new_run(blueprint, origin, journal=journal, records=await journal.load(experiment))
    assert execution_of(outer.context).in_experiment
    assert execution_of(agent.prepare("inside", parent=outer.context).context).in_experiment
    assert not execution_of(agent.prepare("elsewhere").context).in_experiment


async def test_messages_are_no_effects_but_plug_ins_that_do_not_say_so_are_left_out():
    class Speaking(Plugin):
        name = "speaking"
        harmless = True

        async def before_round(self, run: RunContext) -> None:
            await run.emit(MessageAdded(UserMessage("one more thing", kind="note"), self.name))

    ran: list[str] = []
    journal = MemoryJournal()
    plugins = [Loud(ran), Speaking()]
    agent = Agent(ScriptedModel(lambda _: "done"), tools_of(ran), plugins=plugins, journal=journal)
    first = await agent.run("go")
    experiment = await marked_fork(journal, first.run_id, 1)
    ran.clear()
    await _drive(agent, experiment, journal)
    assert ran == []
    assert any(isinstance(r.event, MessageAdded) for r in await journal.load(experiment))
