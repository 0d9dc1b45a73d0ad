"""Agents in the background: started by a call, told of between steps, and gone on with after a crash."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kit import add, call, until
from treadle import Agent, ScriptedModel, tool
from treadle._flows.background import BackgroundAgents
from treadle._journal.memory import MemoryJournal
from treadle._types import events as ev
from treadle._types.errors import ConfigError


class Gate:
    """A tool that waits until the test lets it go on."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.calls = 0

        @tool(effect="pure", timeout=None)
        async def look() -> str:
            """Look something up, slowly."""
            self.calls += 1
            await self.open.wait()
            return "found"

        self.look = look


def scout(gate: Gate, *script: Any) -> Agent:
    return Agent(ScriptedModel(script or [call("look"), "The scout found it."]), [gate.look], name="scout")


def told(records: Any) -> list[str]:
    return [str(r.event.message.content) for r in records if isinstance(r.event, ev.MessageAdded)]


async def test_the_run_goes_on_and_is_told_between_steps():
    gate = Gate()

    @tool(effect="pure")
    async def open_gate() -> str:
        """Let the scout go on, and wait until it has ended."""
        gate.open.set()
        await until(lambda: any(r.event.__class__ is ev.ChildSpent for r in run.records))
        return "opened"

    model = ScriptedModel([call("start_scout", task="look"), call("add", a=1, b=2), call("open_gate"), "All done."])
    agent = Agent(model, [add, open_gate], plugins=[BackgroundAgents(scout(gate))])
    run = agent.start("q", run_id="r")
    result = await run
    assert [step.error for step in result.steps] == ["", "", ""]
    assert result.steps[1].observation == "3"
    (report,) = told(run.records)
    started = result.steps[0].call_id
    assert report == f"[background {started}: the agent scout has ended]\nThe scout found it."
    assert str(model.requests[-1].messages[-1].content) == report
    assert result.answer == "All done."
    assert result.usage.requests == 6


async def test_an_answer_waits_for_the_work_and_is_thought_over():
    gate = Gate()
    model = ScriptedModel([call("start_scout", task="look"), "Too early.", "The scout found it, I say."])
    agent = Agent(model, None, plugins=[BackgroundAgents(scout(gate))])
    run = agent.start("q")
    await until(lambda: any(isinstance(r.event, ev.PhaseChanged) for r in run.records))
    gate.open.set()
    result = await run
    assert result.answer == "The scout found it, I say."
    assert len(told(run.records)) == 1


async def test_after_a_crash_the_work_goes_on_and_its_end_is_told_once():
    journal, gate = MemoryJournal(), Gate()

    def made(*script: Any) -> Agent:
        background = BackgroundAgents(scout(gate, *script) if script else scout(gate))
        return Agent(ScriptedModel(main_script), None, plugins=[background], journal=journal)

    def main_script(request: Any) -> Any:
        words = [str(getattr(message, "content", "")) for message in request.messages]
        if any("has ended" in text for text in words):
            return f"Told: {words[-1]}"
        return call("start_scout", task="look") if len(words) < 2 else "Too early."

    first = made().start("q", run_id="r")
    await until(lambda: gate.calls)
    await until(lambda: any(isinstance(r.event, ev.PhaseChanged) for r in first.records))
    await first.abandon()  # as kill -9 leaves it
    gate.open.set()
    resumed = await made("The scout found it.").resume("r")
    assert "The scout found it." in resumed.answer
    assert gate.calls == 2  # a pure call is made again, in the run that had begun
    assert len(told(await journal.load("r"))) == 1
    inner = [info.run_id for info in await journal.list(parent="r")]
    assert len(inner) == 1


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(("name", "call_id"), [("my scout!", "c1"), ("scout", "functions.start_scout:0")])
async def test_whatever_agents_and_calls_are_named_an_end_is_told_once(name: str, call_id: str, together: bool):
    journal, killed, finder = MemoryJournal(), asyncio.Event(), ScriptedModel(["Found."])

    @tool(effect="pure", timeout=None)
    async def hang() -> str:
        """The process is killed here, the first time."""
        if not killed.is_set():
            await asyncio.Event().wait()
        return "on"

    def made(*script: Any) -> Agent:
        work = BackgroundAgents(Agent(finder, None, name=name))
        return Agent(ScriptedModel(script), [hang], plugins=[work], journal=journal)

    start = {**call(f"start_{name}".replace(" ", "_").replace("!", "_"), task="look"), "id": call_id}
    script = [[start, call("hang")]] if together else [start, "Early.", call("hang")]
    first = made(*script).start("q", run_id="r")
    await until(lambda: any(one.call.name == "hang" and one.started for one in first.state.calls.open.values()))
    assert len(told(first.records)) == (not together)
    await first.abandon()
    killed.set()
    assert (await made("Done.").resume("r")).answer == "Done."
    (end,) = told(await journal.load("r"))
    assert end.endswith("\nFound.")
    assert len(finder.requests) == 1, "work that had ended is not done again"


async def test_cancelling_the_run_stops_the_work():
    journal, gate = MemoryJournal(), Gate()
    model = ScriptedModel([call("start_scout", task="look"), "Too early."])
    run = Agent(model, None, plugins=[BackgroundAgents(scout(gate))], journal=journal).start("q", run_id="r")
    await until(lambda: gate.calls)
    run.cancel()
    assert (await run).stop_reason == "cancelled"
    (inner,) = await journal.list(parent="r")
    assert inner.stop_reason == "cancelled"


async def test_work_that_waits_for_a_person_has_the_run_wait():
    @tool(approval="ask")
    async def buy(what: str) -> str:
        """Buy something."""
        return f"bought {what}"

    journal = MemoryJournal()

    def script(request: Any) -> Any:
        words = [str(getattr(message, "content", "")) for message in request.messages]
        if any("has ended" in text for text in words):
            return words[-1]
        return call("start_buyer", task="buy tea") if len(words) < 2 else "Too early."

    def buying(request: Any) -> Any:
        return call("buy", what="tea") if len(request.messages) < 2 else f"I {request.messages[-1].content}"

    def made() -> Agent:
        buyer = Agent(ScriptedModel(buying), [buy], name="buyer")
        return Agent(ScriptedModel(script), None, plugins=[BackgroundAgents(buyer)], journal=journal)

    paused = await made().run("q", run_id="r")
    assert paused.stop_reason == "paused"
    assert [pending.tool for pending in paused.pending] == ["buy"]
    result = await made().resume("r", approve=True)
    assert "I bought tea" in result.answer


async def test_a_run_that_pauses_does_not_cut_its_work_off():
    @tool(approval="ask")
    async def pay() -> str:
        """Pay."""
        return "paid"

    journal, gate = MemoryJournal(), Gate()
    script = [call("start_scout", task="look"), call("pay")]
    run = Agent(ScriptedModel(script), [pay], plugins=[BackgroundAgents(scout(gate))], journal=journal).start("q")
    await until(lambda: gate.calls)
    gate.open.set()
    assert (await run).stop_reason == "paused"
    (inner,) = await journal.list(parent=run.id)
    assert inner.stop_reason == "answer"
    again = Agent(ScriptedModel(["Done."]), [pay], plugins=[BackgroundAgents(scout(gate))], journal=journal)
    result = await again.resume(run.id, approve=True)
    assert result.answer == "Done."
    assert "The scout found it." in told(await journal.load(run.id))[0]


async def test_not_more_than_so_many_at_once_and_a_failure_is_told():
    gate = Gate()
    plugin = BackgroundAgents(scout(gate, ValueError("lost")), most=1)
    two = [call("start_scout", task="a"), call("start_scout", task="b")]
    run = Agent(ScriptedModel([two, "Early.", "Done."]), None, plugins=[plugin]).start("q")
    result = await run
    assert sorted(bool(step.error) for step in result.steps) == [False, True]
    assert "has failed" in told(run.records)[0]


def test_agents_need_names_of_their_own():
    with pytest.raises(ConfigError, match="names of their own"):
        BackgroundAgents(scout(Gate()), scout(Gate()))
