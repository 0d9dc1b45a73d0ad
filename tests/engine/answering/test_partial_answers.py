"""What was shown of an answer is in the log, however the run ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from treadle import Agent, Budget, Conversation, ScriptedModel
from treadle._journal.memory import MemoryJournal
from treadle._server.live.channel import Channel
from treadle._server.live.follower import Follower
from treadle._types.errors import ModelError
from treadle._types.events import AnswerDelta, AnswerDone, AnswerPartial, Record
from treadle._types.messages import AssistantMessage
from treadle._types.request import Reply, TextDelta
from treadle._types.state import fold
from virtual_time import go_virtual, in_virtual_time

WORDS = ("one ", "two ", "three ")


class Slow(ScriptedModel):
    """Says three words, a second each, and then what it is told to."""

    def __init__(self, end: Any = None) -> None:
        super().__init__([])
        self.end, self.said = end, asyncio.Event()

    async def stream(self, request: Any) -> Any:
        self.requests.append(request)
        for word in WORDS:
            await asyncio.sleep(1)
            yield TextDelta(word)
        if len(self.requests) == 1:
            self.said.set()
            if self.end is not None:
                raise self.end
            await asyncio.sleep(1_000)
        yield Reply("".join(WORDS))


async def watched(agent: Any, **options: Any) -> tuple[Any, list[Any]]:
    run, seen = agent.start("q", **options), []
    run.subscribe(lambda record: seen.append(record.event))
    return run, seen


def shown(events: list[Any]) -> str:
    return "".join(event.text for event in events if isinstance(event, AnswerDelta))


@pytest.mark.parametrize("why", ["cancelled", "budget"])
@in_virtual_time
async def test_a_stop_keeps_what_was_shown_and_what_it_cost(why: str):
    model = Slow()
    budget = {"budget": Budget(seconds=100), "on_budget": "force_answer"} if why == "budget" else {}
    run, seen = await watched(Agent(model, None, **budget))
    await model.said.wait()
    run.stop(why)
    result = await run
    assert (result.answer, result.stop_reason, result.success) == ("one two three", why, False)
    assert shown(seen) == "one two three", "once"
    assert result.new_messages[-1] == AssistantMessage("one two three")
    usage = result.usage
    assert (usage.requests, usage.output_tokens > 0, result.iterations) == (1, True, 1)
    assert usage.estimated_tokens == usage.total_tokens
    assert [event for event in seen if isinstance(event, AnswerDone)] == [AnswerDone("one two three", "partial")]


def test_a_text_view_shows_a_stopped_answer_once():
    async def main() -> str:
        from treadle._engine.surfaces.text_view import TextView

        model, view, pieces = Slow(), TextView(markers=False), list[str]()
        run = Agent(model, None).start("q")
        run.subscribe(lambda record: pieces.extend(view.feed(record)))
        await model.said.wait()
        run.cancel()
        await run
        return "".join(pieces)

    assert go_virtual(main())[0] == "one two three"


@in_virtual_time
async def test_the_conversation_goes_on_from_what_was_shown():
    for journal in (None, MemoryJournal()):
        model = Slow()
        talk = Conversation(Agent(model, None, journal=journal))
        run = await talk.start("q")
        run.subscribe(lambda record: None)
        await model.said.wait()
        run.cancel()
        await run
        await talk.ask("go on")
        assert "one two three" in str(model.requests[1].messages[1])
        assert "stopped here" in str(model.requests[1].messages[1])


@in_virtual_time
async def test_a_lost_provider_leaves_what_it_had_said():
    run, seen = await watched(Agent(Slow(ModelError("gone")), None))
    result = await run
    assert (result.answer, result.stop_reason) == ("one two three", "error")
    assert result.usage.output_tokens > 0
    assert shown(seen) == "one two three"


@in_virtual_time
async def test_a_crash_loses_a_second_at_most_and_a_reader_of_the_log_sees_the_rest():
    model, journal = Slow(), MemoryJournal()
    run, _ = await watched(Agent(model, None, journal=journal))
    await model.said.wait()
    await run.abandon()
    records = await journal.load(run.id)
    pieces = [record.event for record in records if isinstance(record.event, AnswerPartial)]
    assert [piece.text for piece in pieces] == ["one", " two", " three"]
    state = fold(records)
    assert state.answer.partial == "one two three"
    assert state.usage.output_tokens > 0
    assert run.result().answer == "one two three"
    for detail, name in (("plain", "answer"), ("items", "piece")):
        events = await Follower(Channel(run.id), journal, detail=detail).step()  # type: ignore[arg-type]
        text = "".join(event.data.get("content", "") for event in events if event.name == name)
        assert text == "one two three", detail

    resumed = await Agent(model, None, journal=journal).resume(run.id)
    assert (resumed.answer, resumed.success) == ("one two three", True)
    assert resumed.usage.requests == 2
    assert fold(await journal.load(run.id)).answer.partial == ""


def test_an_estimate_is_replaced_by_what_is_reported():
    state = fold(
        Record("r", seq, 0.0, event)
        for seq, event in enumerate([AnswerPartial("a", usage=_usage(3)), AnswerPartial("b", 1, usage=_usage(5))])
    )
    assert (state.answer.partial, state.usage.output_tokens) == ("ab", 5)


def _usage(tokens: int) -> Any:
    from treadle._types.usage import Usage

    return Usage(output_tokens=tokens, requests=1)


async def test_nothing_is_stored_of_an_answer_that_comes_at_once():
    run, _ = await watched(Agent(ScriptedModel(["one two three"]), None))
    await run
    assert not any(isinstance(record.event, AnswerPartial) for record in run.records)
