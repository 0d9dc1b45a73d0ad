"""The agent: what it refuses, and every way to start, watch, resume and stop its runs."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from kit import add, call, go
from treadle import (
    Agent,
    AnswerSettings,
    Budget,
    DagAgent,
    Plugin,
    RunLimits,
    ScriptedModel,
    tool,
)
from treadle._agent import presets
from treadle._engine.settings import Settings
from treadle._journal.memory import MemoryJournal
from treadle._types import events as ev
from treadle._types.errors import ConfigError, ModelError, RunNotFoundError, UnknownModelError
from treadle._types.messages import SystemMessage, UserMessage
from treadle._types.profile import Profile
from virtual_time import go_virtual


@tool(timeout=None)
async def hang() -> str:
    """Hang."""
    await asyncio.Event().wait()
    return ""


def answering(*script: Any, **options: Any) -> Agent:
    return Agent(ScriptedModel(script or ["42"]), [add], **options)


# ---- what it is made of


def test_a_plug_in_that_brings_tools_is_enough():
    class Bringer(Plugin):
        brings_tools = True

    assert len(Agent(ScriptedModel([]), plugins=[Bringer()]).toolkit) == 0


@pytest.mark.parametrize("wrong", [42, object(), "gpt-5", "nobody:gpt-5"])
def test_what_is_no_model_is_refused(wrong: Any):
    with pytest.raises((UnknownModelError, ConfigError)):
        Agent(wrong, [add])


def test_a_preset_that_needs_native_calls_is_refused_a_model_without_them_unless_the_user_says_native_himself():
    unable = {"tool_call": False}
    with pytest.raises(TypeError, match="dialect='native' to try it all the same"):
        Agent(ScriptedModel([], abilities=unable), [add], preset="strict")
    model = ScriptedModel([call("add", a=2, b=3), "5"], abilities=unable)
    result = go(Agent(model, [add], dialect="native").run("2 + 3?"))
    assert (result.answer, result.tools_used) == ("5", ["add"])
    assert [tool.name for tool in model.requests[0].tools] == ["add"]


def test_an_output_type_that_cannot_be_described_is_refused_at_once():
    with pytest.raises(Exception, match=r".+"):
        Agent(ScriptedModel([]), [add], output_type=threading.Lock)


def test_settings_of_the_preset_can_be_changed_for_the_agent_and_for_a_run():
    agent = answering("1", "2", preset="strict", temperature=0.9)
    assert (agent.settings.max_iterations, agent.settings.temperature) == (8, 0.9)
    go(agent.run("q", temperature=0.1, max_tokens=7))
    request = agent.model.requests[0]  # type: ignore[attr-defined]
    assert (request.temperature, request.max_tokens) == (0.1, 7)
    with pytest.raises(ConfigError, match="unknown setting 'temprature'"):
        go(agent.run("q", temprature=1))
    own = presets.Preset("own", Settings(max_iterations=3))
    assert answering(preset=own).settings.max_iterations == 3


def test_the_system_prompt_is_the_agents_then_the_historys_then_the_instructions():
    agent = answering(system="You are kind.", instructions="Be brief.", output_type=None)
    history = [SystemMessage("From before."), SystemMessage("the run's own", rendered=True), UserMessage("hi")]
    go(agent.run("q", history=history))
    (request,) = agent.model.requests  # type: ignore[attr-defined]
    assert request.messages[0] == SystemMessage("You are kind.\n\nFrom before.\n\nBe brief.")


def test_a_budget_needs_a_worst_case():
    for profile, expected in ((Profile(tool_call=True, max_output=99), 99), (Profile(tool_call=True), 4096)):
        model = ScriptedModel(["42"], profile=profile)
        go(Agent(model, [add], budget=Budget(tokens=100_000)).run("q"))
        assert model.requests[0].max_tokens == expected


async def test_secrets_reach_neither_the_log_nor_the_model():
    agent = answering(call("add", a=1, b=2), "it is hunter2hunter2", secrets=["hunter2hunter2"])
    run = agent.start("my password is hunter2hunter2")
    result = await run
    assert "hunter2" not in repr((run.records, result.answer, agent.model.requests))  # type: ignore[attr-defined]


# ---- starting


@pytest.mark.parametrize("question", ["", None, 42, []])
def test_what_is_no_question_is_refused_before_anything_happens(question: Any):
    agent = answering()
    with pytest.raises(ConfigError):
        go(agent.run(question))
    assert agent.model.requests == []  # type: ignore[attr-defined]


async def test_a_prepared_run_has_an_id_and_has_not_begun():
    agent = answering()
    run = agent.prepare("q")
    assert len(run.id) == 32
    assert not run.begun
    assert (await agent.launch(run)).answer == "42"


async def test_an_error_that_is_to_be_raised_is_raised_to_who_listens():
    last: Any = None
    with pytest.raises(ModelError, match="broken"):
        async for event in answering(ModelError("broken"), raise_errors=True).stream("q"):
            last = event
    assert isinstance(last, ev.RunFinished)


async def ended(agent: Agent) -> str:
    """How the run `r` ended, which must have happened by now."""
    last = (await agent.journal.load("r"))[-1].event
    assert isinstance(last, ev.RunFinished)
    return last.stop_reason


@pytest.mark.parametrize("way", ["stream", "stream_records"])
async def test_when_the_stream_is_closed_the_run_has_been_cancelled(way: str):
    agent = Agent(ScriptedModel([call("hang")]), [hang], journal=MemoryJournal())
    stream = getattr(agent, way)("q", run_id="r")
    async for item in stream:
        if isinstance(getattr(item, "event", item), ev.ToolStarted):
            break
    await stream.aclose()
    assert await ended(agent) == "cancelled"


@pytest.mark.parametrize("way", ["stream", "stream_records", "deltas"])
def test_who_is_cancelled_while_listening_cancels_the_run(way: str):
    async def main() -> None:
        agent = Agent(ScriptedModel([call("hang")]), [hang], journal=MemoryJournal())

        async def listen() -> None:
            async for _ in getattr(agent, way)("q", run_id="r"):
                pass

        listening = asyncio.ensure_future(listen())
        await asyncio.sleep(1)
        listening.cancel()
        await asyncio.wait([listening])
        assert await ended(agent) == "cancelled"

    go_virtual(main())


async def test_the_answer_in_pieces_with_what_it_has_cost_so_far():
    pairs = [pair async for pair in answering(call("add", a=1, b=2), "three").deltas("q")]
    assert "".join(text for text, _ in pairs) == "three"
    counts = [tokens for _, tokens in pairs]
    assert counts == sorted(counts)
    assert counts[-1] > 0


def test_plain_text_with_and_without_markers():
    def text(**options: Any) -> str:
        return "".join(answering("42", preset="default", markers=True).text("q", **options))

    assert text() == "<__final_answer__>42</__final_answer__>"
    assert text(skip_special_tokens=True) == text(markers=False) == "42"
    assert text(skip_special_tokens=False, markers=False) == "<__final_answer__>42</__final_answer__>"


def test_a_generator_of_text_returns_the_answer_and_raises_what_went_wrong():
    stream = answering(call("add", a=1, b=2), "3").text("q")
    pieces: list[str] = []
    with pytest.raises(StopIteration) as ended:
        while True:
            pieces.append(next(stream))
    assert ended.value.value == "3"
    assert '[add] {"a":1,"b":2}' in "".join(pieces)
    with pytest.raises(ConfigError, match="the prompt is empty"):
        list(answering().text(""))


# ---- resuming


async def test_a_finished_run_gives_its_result_again():
    journal = MemoryJournal()
    first = await answering(journal=journal).run("q", run_id="r")
    again = await answering(ModelError("must not be asked"), journal=journal).resume("r")
    assert (again.answer, again.run_id) == (first.answer, "r")


async def test_a_run_nobody_knows_is_named():
    with pytest.raises(RunNotFoundError, match="'nowhere'"):
        await answering().resume("nowhere")
    with pytest.raises(RunNotFoundError, match="nowhere"):
        await answering(journal=MemoryJournal()).resume("nowhere")


async def test_a_paused_run_is_kept_without_a_journal_until_it_has_ended():
    agent = Agent(ScriptedModel([call("add", a=1, b=2), "3"]), [add.replace(approval="ask")])
    paused = await agent.run("q", run_id="r")
    assert paused.stop_reason == "paused"
    result = await agent.resume("r", approve={"call_1_0": True})
    assert result.answer == "3"
    with pytest.raises(RunNotFoundError):
        await agent.resume("r")


async def test_a_run_itself_can_be_resumed_with_the_decisions_given_to_it():
    agent = Agent(ScriptedModel([call("add", a=1, b=2), "3"]), [add.replace(approval="ask")])
    run = agent.start("q")
    await run
    waiting = run.state.paused
    run.approve(waiting.calls[0].id, False, by="ann", note="not now")
    result = await agent.resume(run)
    assert "not now" in result.steps[0].observation


async def test_settings_of_the_log_count_and_can_be_overridden():
    journal = MemoryJournal()
    await answering(ModelError("x"), journal=journal).start("q", run_id="r", temperature=0.7)
    other = answering(journal=journal)
    assert (await other.load("r")).settings.temperature == 0.7
    assert (await other.load("r", temperature=0.2)).settings.temperature == 0.2


# ---- while runs work


def test_an_agent_of_any_kind_can_be_a_tool():
    assert answering(name="adder").as_tool().name == "adder"
    assert DagAgent(ScriptedModel([]), [add], name="planner").as_tool().name == "planner"


def test_an_agent_takes_rare_keywords_groups_and_flat_settings_together():
    agent = Agent(
        ScriptedModel(["x"]), None, name="Ada", deps=None, limits=RunLimits(max_iterations=3), on_limit="raise"
    )
    assert (agent.name, agent.deps) == ("Ada", None)
    assert agent.chosen == {"on_limit": "raise", "max_iterations": 3}
    prepared = agent.prepare("q", limits=RunLimits(max_iterations=2))
    assert (prepared.context.settings.max_iterations, prepared.context.settings.on_limit) == (2, "raise")
    assert [*agent.text("q", answering=AnswerSettings(markers=True))][-1].strip().endswith(">")
