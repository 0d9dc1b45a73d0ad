"""The ways to ask an agent give the same run; an agent can be changed for a while, and closes what it opened."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from kit import call, echo, go
from treadle import Agent, ScriptedModel, open_journal
from treadle._agent.surfaces import Surfaces
from treadle.events import AnswerDone


@dataclass
class City:
    name: str


def test_every_surface_gives_the_answer():
    def agent() -> Agent:
        return Agent(ScriptedModel([call("echo", text="x"), "done"]), [echo])

    async def watched() -> list[str]:
        return [event.text async for event in agent().stream("q") if isinstance(event, AnswerDone)]

    async def pieces() -> str:
        return "".join([text async for text, _ in agent().deltas("q", provisional=False)])

    assert isinstance(agent(), Surfaces)
    assert go(agent().run("q")).answer == agent().run_sync("q").answer == "done"
    assert go(watched()) == ["done"]
    assert go(pieces()) == "done"
    assert "done" in "".join(agent().text("q"))


def test_a_plain_agents_output_is_its_answer():
    assert Agent(ScriptedModel(["Hello"]), tools=None).run_sync("q").output == "Hello"


async def test_a_typed_answer_is_typed_again_when_it_is_loaded(tmp_path: Path):
    agent = Agent(ScriptedModel(['{"name": "Oslo"}']), tools=None, output_type=City, journal=tmp_path / "runs.db")
    async with agent:
        first = await agent.run("q", run_id="r1")
        again = await agent.resume("r1")
    assert first.output == again.output == City("Oslo")


def test_new_messages_continue_a_history():
    agent = Agent(ScriptedModel(["one", "two"]), tools=None, system="S")
    first = agent.run_sync("a")
    assert [message.role for message in first.new_messages] == ["user", "assistant"]
    second = agent.run_sync("b", history=first.new_messages)
    assert [message.role for message in second.new_messages] == ["user", "assistant"]
    assert [message.role for message in second.messages] == ["system", "user", "assistant", "user", "assistant"]


def test_an_override_holds_for_the_block_and_no_longer():
    agent = Agent(ScriptedModel(["real"], repeat_last=True), [echo])
    with agent.override(model=ScriptedModel(["fake"]), tools=None, max_iterations=3) as same:
        assert same is agent
        assert agent.run_sync("q").answer == "fake"
        assert (len(agent.toolkit), agent.settings.max_iterations) == (0, 3)
    assert agent.run_sync("q").answer == "real"
    assert (agent.toolkit.names, agent.settings.max_iterations) == (("echo",), 50)
    with pytest.raises(ZeroDivisionError), agent.override(model=ScriptedModel([])):
        raise ZeroDivisionError
    assert agent.run_sync("q").answer == "real"


class Closable(ScriptedModel):
    closed = False

    async def aclose(self) -> None:
        self.closed = True


async def test_leaving_the_block_closes_what_the_agent_opened_and_stops_its_runs(tmp_path: Path):
    begun = asyncio.Event()

    async def forever(text: str) -> str:
        """Wait."""
        begun.set()
        await asyncio.Event().wait()
        return text

    mine, own = Closable([call("forever", text="x")]), open_journal(tmp_path / "own.db")
    async with Agent(mine, [forever], journal=tmp_path / "runs.db") as agent:
        run = agent.start("q")
        await begun.wait()
    assert (run.done, (await run).stop_reason, mine.closed) == (True, "cancelled", False)
    async with Agent(mine, tools=None, journal=own) as other:
        assert other.journal is own
    await own.list()  # still open
    await own.aclose()
