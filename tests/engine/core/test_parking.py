"""Runs that end the process that works on them."""

from __future__ import annotations

from typing import Any

import pytest

from kit import call
from treadle import Agent, ScriptedModel, tool
from treadle._engine.core.parking import MAX_ATTEMPTS, attempts_without_progress, parked
from treadle._engine.run import Run
from treadle._journal.memory import MemoryJournal
from treadle._types import events as ev
from treadle._types.messages import AssistantMessage
from treadle._types.state import fold


def log(*events: Any) -> list[ev.Record]:
    return [ev.Record("r", seq, float(seq), event) for seq, event in enumerate(events)]


@pytest.mark.parametrize(
    ("after", "attempts"),
    [
        ([], 0),
        ([ev.Resumed("restarted", 1)], 1),
        ([ev.Resumed("restarted", 1), ev.ThinkStarted("loop", 1), ev.Resumed("restarted", 2)], 2),
        ([ev.Resumed("restarted", 2), ev.ThinkDone("loop", 1, AssistantMessage("x"))], 0),
        ([ev.Resumed("restarted", 2), ev.ToolDone("c", "f", 1, "x")], 0),
        ([ev.Resumed("restarted", 2), ev.ChildSpent("c")], 0),
        ([ev.Resumed("restarted", 2), ev.ThinkFailed("loop", 1, 1, "busy")], 2),
        ([ev.Resumed("paused")], 0),
        ([ev.Resumed("restarted")], 0),
    ],
    ids=["never", "once", "twice", "a reply", "a result", "a child's work", "a failure", "a pause", "an older log"],
)
def test_attempts_count_since_the_last_progress(after: list[Any], attempts: int):
    assert attempts_without_progress(log(ev.RunStarted("q"), *after)) == attempts


def test_a_parked_run_says_how_to_go_on():
    record = parked("r7", 3)
    assert record.parked == 3
    assert "treadle runs resume r7" in record.reason


class Poison:
    """An agent with a tool that ends its process as often as it is told to."""

    def __init__(self, deaths: int = 10**9) -> None:
        self.journal, self.deaths, self.run_id = MemoryJournal(), deaths, ""

    def agent(self) -> tuple[Agent, list[Run]]:
        driven: list[Run] = []

        @tool(effect="pure")
        async def poison() -> str:
            """End the process."""
            self.deaths -= 1
            if self.deaths >= 0:
                import asyncio

                task = asyncio.ensure_future(driven[0].abandon())
                await asyncio.sleep(3600)
                await task
            return "survived"

        model = ScriptedModel(lambda request: "done" if len(request.messages) > 2 else call("poison"))
        return Agent(model, [poison], journal=self.journal), driven

    async def start(self) -> None:
        agent, driven = self.agent()
        driven.append(agent.start("q"))
        self.run_id = driven[0].id
        await _ended(driven[0])

    async def resume(self, *, unattended: bool) -> Run:
        agent, driven = self.agent()
        driven.append(agent.launch(await agent.load(self.run_id, unattended=unattended)))
        await _ended(driven[0])
        return driven[0]

    async def status(self) -> str:
        (info,) = await self.journal.list()
        return info.status


async def _ended(run: Run) -> None:
    import asyncio

    await asyncio.wait([run.task])


async def test_a_run_that_kills_each_process_is_parked_after_three_attempts():
    assert MAX_ATTEMPTS == 3
    poison = Poison()
    await poison.start()
    for attempt in range(1, MAX_ATTEMPTS + 1):
        assert await poison.status() == "idle"
        run = await poison.resume(unattended=True)
        resumed = [r.event for r in run.records if isinstance(r.event, ev.Resumed)]
        assert resumed[-1] == ev.Resumed("restarted", attempt)
    before = poison.deaths
    run = await poison.resume(unattended=True)
    assert poison.deaths == before, "it was not run again"
    assert await poison.status() == "parked"
    result = await run
    assert (result.stop_reason, result.success) == ("paused", False)
    assert run.state.paused is not None
    assert run.state.paused.parked == MAX_ATTEMPTS


async def test_a_person_resumes_a_parked_run_once_for_each_time_it_is_asked():
    poison = Poison()
    await poison.start()
    for _ in range(MAX_ATTEMPTS + 1):
        await poison.resume(unattended=True)
    before = poison.deaths
    run = await poison.resume(unattended=False)
    assert poison.deaths == before - 1
    assert [r.event for r in run.records if isinstance(r.event, ev.Resumed)][-1] == ev.Resumed("unparked", 4)
    await poison.resume(unattended=True)
    assert (await poison.status(), poison.deaths) == ("parked", before - 1)
    poison.deaths = 0
    run = await poison.resume(unattended=False)
    assert (await run).answer == "done"
    assert await poison.status() == "finished"
    assert fold(await poison.journal.load(poison.run_id)).steps[0].observation == "survived"


async def test_a_person_who_resumes_an_interrupted_run_is_never_refused():
    poison = Poison(deaths=6)
    await poison.start()
    for _ in range(6):
        run = await poison.resume(unattended=False)
    assert (await run).answer == "done"


async def test_a_run_that_gets_further_each_time_is_not_parked():
    journal = MemoryJournal()
    driven: list[Run] = []

    @tool(effect="pure")
    async def step(n: int) -> str:
        """One step; the next process does the next one."""
        import asyncio

        if n > len(driven):
            task = asyncio.ensure_future(driven[-1].abandon())
            await asyncio.sleep(3600)
            await task
        return "done"

    def script(request: Any) -> Any:
        n = (len(request.messages) + 1) // 2
        return call("step", n=n) if n <= 8 else "finished"

    agent = Agent(ScriptedModel(script), [step], journal=journal)
    driven.append(agent.start("q"))
    await _ended(driven[-1])
    for _ in range(8):
        driven.append(agent.prepare("placeholder"))
        run = agent.launch(await agent.load(driven[0].id, unattended=True))
        driven[-1] = run
        await _ended(run)
    assert (await driven[-1]).answer == "finished"
