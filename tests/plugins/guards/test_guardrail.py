"""Guardrails: what they stop, when, and what they leave in the log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kit import add, call, go
from treadle import Agent, ConfigError, GuardrailError, ScriptedModel
from treadle._inspect.replay import replay
from treadle._journal.memory import MemoryJournal
from treadle._plugins.guards.guardrail import Guardrail, forbid_patterns, matches, model_judge, on_topic
from treadle._types import events as ev
from treadle._types.request import Request


class Slow(ScriptedModel):
    """Its first reply of the loop never comes unless the test says so."""

    def __init__(self, script: Any) -> None:
        super().__init__(script)
        self.asked, self.go_on, self.stopped = asyncio.Event(), asyncio.Event(), False

    async def stream(self, request: Request) -> AsyncIterator[Any]:
        if request.component == "loop":
            self.asked.set()
            try:
                await self.go_on.wait()
            except asyncio.CancelledError:
                self.stopped = True
                raise
        async for part in super().stream(request):
            yield part


async def test_a_refused_question_stops_the_request_that_is_under_way():
    model = Slow(["never"])

    async def check(guard: Any, run: Any, text: str) -> str:
        await model.asked.wait()  # the request has gone out
        return f"not about {text}"

    result = await Agent(model, [add], plugins=[Guardrail(check, name="door", message="No.")]).run("bombs")
    assert model.stopped
    assert (result.answer, result.success, result.stop_reason) == ("No.", False, "error")
    assert isinstance(result.error, GuardrailError)
    assert (result.error.guard, result.error.reason) == ("door", "not about bombs")
    report = result.metadata["reports"]["door"]
    assert (report["on"], report["saw"], report["refused"]) == ("input", "bombs", "not about bombs")


async def test_nothing_comes_of_a_reply_before_the_check_has_passed():
    called: list[int] = []
    checking = asyncio.Event()

    async def check(guard: Any, run: Any, text: str) -> str:
        for _ in range(50):  # the reply is there long before
            await asyncio.sleep(0)
        assert not called
        checking.set()
        return ""

    def count() -> str:
        """Count."""
        called.append(1)
        return "counted"

    result = await Agent(ScriptedModel([call("count"), "done"]), [count], plugins=[Guardrail(check)]).run("q")
    assert (result.answer, called, checking.is_set()) == ("done", [1], True)


async def test_only_the_first_request_is_checked_and_a_resumed_run_is_not_checked_again():
    looks: list[str] = []

    async def check(guard: Any, run: Any, text: str) -> str:
        looks.append(text)
        return ""

    journal = MemoryJournal()
    asking = add.replace(approval="ask")
    agent = Agent(ScriptedModel([call("add", a=1, b=2), "3"]), [asking], plugins=[Guardrail(check)], journal=journal)
    paused = await agent.run("q", run_id="r")
    assert paused.stop_reason == "paused"
    assert (await agent.resume("r", approve=True)).answer == "3"
    assert looks == ["q"]


@pytest.mark.parametrize(
    ("check", "text", "why"),
    [
        (forbid_patterns(r"password"), "The Password is x", "must not be there"),
        (forbid_patterns(r"password"), "All is well", ""),
        (matches({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}), '{"a": 1}', ""),
        (matches({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}), '{"b": 1}', "a"),
        (matches({"type": "object"}), "words", "not JSON"),
        (matches({"type": "object"}), "[1]", "not an object"),
    ],
)
def test_an_answer_that_a_check_refuses_is_not_given(check: Any, text: str, why: str):
    result = go(Agent(ScriptedModel([text]), None, plugins=[Guardrail(check, on="output", name="out")]).run("q"))
    assert bool(result.error) is bool(why)
    assert why in result.metadata["reports"]["out"]["refused"]
    assert (result.answer == text) is not bool(why)


@pytest.mark.parametrize(
    ("verdict", "refused"),
    [
        ("PASS", ""),
        ("<think>hm</think>\nPASS", ""),
        ("BLOCK: it is about cooking", "it is about cooking"),
        ("**BLOCK**", "the judge refuses it"),
        ("Well, who knows?", "the judge gave no verdict"),
        ("", "the judge gave no verdict"),
    ],
)
def test_a_judge_is_a_recorded_model_call_with_its_cost(verdict: str, refused: str):
    def script(request: Any) -> Any:
        return verdict if request.component == "topic" else "An answer."

    run = Agent(ScriptedModel(script), None, plugins=[Guardrail(on_topic("railways"), name="topic")])
    result = go(run.run("How do I cook rice?"))
    report = result.metadata["reports"]["topic"]
    assert (report["refused"], report["requests"]) == (refused, 1)
    assert report["tokens"] > 0
    assert (result.answer == "An answer.") is not bool(refused)


def test_a_check_that_fails_has_refused():
    async def broken(guard: Any, run: Any, text: str) -> str:
        raise ValueError("boom")

    result = go(Agent(ScriptedModel(["x"]), None, plugins=[Guardrail(broken)]).run("q"))
    assert isinstance(result.error, GuardrailError)
    assert "boom" not in result.answer


def test_a_request_that_fails_while_it_is_checked_is_treated_as_ever():
    async def slow(guard: Any, run: Any, text: str) -> str:
        await asyncio.sleep(0.01)
        return ""

    result = go(Agent(ScriptedModel([ValueError("down")]), None, plugins=[Guardrail(slow)]).run("q", on_error="result"))
    assert result.stop_reason == "error"
    assert not isinstance(result.error, GuardrailError)


async def test_cancelling_the_run_stops_request_and_check():
    stopped: list[bool] = []

    async def check(guard: Any, run: Any, text: str) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            stopped.append(True)
            raise
        return ""

    model = Slow(["x"])
    run = Agent(model, None, plugins=[Guardrail(check)]).start("q")
    await model.asked.wait()
    run.cancel()
    assert (await run).stop_reason == "cancelled"
    assert model.stopped
    assert stopped == [True]


async def test_a_judged_run_replays():
    def script(request: Any) -> Any:
        return "PASS" if request.component == "guardrail" else "fine"

    journal = MemoryJournal()
    guard = Guardrail(model_judge("It is polite."), on=("input", "output"))
    agent = Agent(ScriptedModel(script), None, plugins=[guard], journal=journal)
    run = agent.start("q")
    assert (await run).answer == "fine"
    reports = [r.event.data["report"]["on"] for r in run.records if isinstance(r.event, ev.Noted)]
    assert reports == ["input", "output"]
    assert replay(await journal.load(run.id)).same


def test_a_refused_answer_is_not_given_as_a_typed_value_either():
    guard = Guardrail(forbid_patterns("Ulm"), on="output", name="out")
    agent = Agent(ScriptedModel(['{"city": "Ulm"}']), None, output_type=dict[str, str], plugins=[guard])
    result = go(agent.run("q", on_error="result"))
    assert isinstance(result.error, GuardrailError)
    assert result.output is None


async def test_words_that_were_shown_before_a_refusal_are_taken_back():
    shown: list[Any] = []
    said = asyncio.Event()

    async def check(guard: Any, run: Any, text: str) -> str:
        await said.wait()
        return "no"

    def see(record: Any) -> None:
        shown.append(record.event)
        if isinstance(record.event, ev.AnswerDelta):
            said.set()

    agent = Agent(ScriptedModel(["Here is how to do it"]), None, plugins=[Guardrail(check, message="No.")])
    run = agent.prepare("q")
    run.subscribe(see)
    result = await agent.launch(run)
    assert result.answer == "No."
    kinds = [type(event) for event in shown]
    assert ev.Reset in kinds[kinds.index(ev.AnswerDelta) :]
    assert ev.AnswerRetracted not in kinds


def test_where_it_is_must_be_said():
    with pytest.raises(ConfigError, match="input"):
        Guardrail(forbid_patterns("x"), on=())
