"""An adviser's own conversation with the model."""

from __future__ import annotations

from typing import Any

import pytest

from kit import echo, go
from plugins.probe import Probe
from plugins.scenes import answer_in, request_text, structured
from treadle import Agent, RetryPolicy, ScriptedModel
from treadle._engine.requests.prefix import prefix_breaks
from treadle._plugins.thinking.thread import BREAK, Thread
from treadle._types.errors import ModelError, TransientModelError
from treadle._types.events import Noted
from treadle._types.messages import AssistantMessage, SystemMessage
from treadle._types.request import Request

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def advise(talk: Any, reply: Any, **options: Any) -> tuple[list[Request], list[Any], ScriptedModel]:
    """The requests of the adviser, the records, and the model."""
    abilities = options.pop("abilities", {})
    done = answer_in("schema" if abilities else "native", "done")
    model = ScriptedModel(lambda request: done if request.component == "loop" else reply(request), abilities=abilities)
    probe = Probe(talk)
    agent = Agent(model, [echo], plugins=[probe], retry=RetryPolicy(attempts=1), **options)

    async def main() -> list[Any]:
        run = agent.start("q")
        assert (await run).answer == "done"
        return list(run.records)

    records = go(main())
    probe.check()
    return [request for request in model.requests if request.component == "adviser"], records, model


def breaks(records: list[Any]) -> int:
    return sum(isinstance(record.event, Noted) and BREAK in record.event.data for record in records)


def test_each_request_extends_the_one_before():
    async def talk(run: Any) -> None:
        for number in range(3):
            thread = Thread(run, "adviser", "SYSTEM", f"OPENING {number}")
            assert await thread.say(f"turn {number}") == "well"
            await run.emit(thread.note())

    asked, records, model = advise(talk, lambda request: " well ")
    assert [len(request.messages) for request in asked] == [2, 4, 6]
    assert asked[0].messages[0] == SystemMessage("SYSTEM")
    assert "OPENING 0\n\nturn 0" in request_text(asked[0])
    assert "OPENING 1" not in request_text(asked[2]), "the opening is said once"
    assert breaks(records) == 0
    assert prefix_breaks(model.requests, records) == []


def test_an_exchange_that_was_not_committed_is_forgotten_and_the_break_is_declared():
    async def talk(run: Any) -> None:
        await Thread(run, "adviser", "SYSTEM", "OPENING").say("lost")
        await Thread(run, "adviser", "SYSTEM", "OPENING").say("again")

    asked, records, model = advise(talk, lambda request: "well")
    assert "lost" not in request_text(asked[1])
    assert breaks(records) == 1
    assert prefix_breaks(model.requests, records) == []


@pytest.mark.parametrize("abilities", [{}, {"tool_call": False}], ids=["a forced call", "text"])
def test_a_shape_is_filled_and_goes_on_as_text(abilities: dict[str, Any]):
    async def talk(run: Any) -> None:
        for number in range(2):
            thread = Thread(run, "adviser", "SYSTEM", "OPENING")
            assert await thread.fill("how many?", SCHEMA, lambda raw: raw["n"], name="count") == 7
            await run.emit(thread.note(number=number))

    asked, records, _ = advise(talk, lambda request: structured(request, {"n": 7}), abilities=abilities)
    reply = next(message for message in asked[1].messages if isinstance(message, AssistantMessage))
    assert (reply.text, reply.calls) == ('{"n":7}', ())
    notes = [record.event.data for record in records if isinstance(record.event, Noted)]
    assert [note["number"] for note in notes if "number" in note] == [0, 1]


def test_it_starts_again_when_it_is_long_and_says_so():
    async def talk(run: Any) -> None:
        for number in range(12):
            thread = Thread(run, "adviser", "SYSTEM", f"OPENING {number}", tokens=500)
            await thread.say(f"turn {number}")
            await run.emit(thread.note())

    asked, records, model = advise(talk, lambda request: "reply " * 50)
    assert any(len(request.messages) > 4 for request in asked)
    starts = [request for request in asked if len(request.messages) == 2]
    assert 2 <= len(starts) <= 6
    assert "OPENING" in request_text(starts[1])
    assert breaks(records) == len(starts) - 1
    assert prefix_breaks(model.requests, records) == []


def test_a_failed_call_leaves_the_committed_past_as_it_was():
    replies = iter(["one", TransientModelError("down", status=503), "two"])

    async def talk(run: Any) -> None:
        first = Thread(run, "adviser", "SYSTEM", "OPENING")
        await first.say("turn 1")
        await run.emit(first.note())
        with pytest.raises(ModelError):
            await Thread(run, "adviser", "SYSTEM", "OPENING").say("turn 2")
        assert await Thread(run, "adviser", "SYSTEM", "OPENING").say("turn 2") == "two"

    asked, _, _ = advise(talk, lambda request: next(replies))
    assert [len(request.messages) for request in asked] == [2, 4, 4]


def test_in_a_small_window_everything_it_says_is_cut():
    async def talk(run: Any) -> None:
        await Thread(run, "adviser", "SYSTEM", "opening " * 5_000).say("turn " * 5_000)

    asked, _, _ = advise(talk, lambda request: "well", context_budget=2_000)
    assert len(request_text(asked[0])) < 2_000 * 4
