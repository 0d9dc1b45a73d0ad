"""Batches: through the providers' interfaces round by round, or some questions at a time; killed and continued."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from models.batching.batch_servers import AnthropicServer, BatchServer, GeminiServer, OpenAIServer
from models.loopback import Loopback
from models.wires import AnthropicWire, ChatWire, GeminiWire, ResponsesWire, Sample, Wire
from treadle import Agent, BatchAnswer, ConfigError, ScriptedModel, open_journal, tool
from treadle._flows.batching.batch import Batch, BatchState, tasks_of
from treadle._models.http_model import HttpModel

QUESTIONS = ["one?", "two?", "three?"]


def body_of(wire: Wire, sample: Sample) -> Any:
    return json.loads(b"".join(wire.whole(sample).pieces))


def echo(wire: Wire) -> Any:
    """A model that repeats the last thing it was told, in capitals."""

    def say(body: Any) -> Any:
        assert not body.get("stream")
        sent = wire.sent({"stream": False, **body})
        return body_of(wire, Sample(sent.texts[-1].upper()))

    return say


def models(url: str) -> dict[str, HttpModel]:
    return {wire.name: wire.model(url) for wire in (ChatWire(), AnthropicWire(), GeminiWire(), ResponsesWire())}


SERVERS: list[Any] = [
    pytest.param(ChatWire(), OpenAIServer, id="openai"),
    pytest.param(ResponsesWire(), OpenAIServer, id="responses"),
    pytest.param(AnthropicWire(), AnthropicServer, id="anthropic"),
    pytest.param(GeminiWire(), GeminiServer, id="gemini"),
]


async def batch(agent: Agent[Any], questions: list[Any], **options: Any) -> list[BatchAnswer]:
    return await agent.batch(questions, interface=True, poll_seconds=0.01, **options)


@pytest.mark.parametrize(("wire", "kind"), SERVERS)
def test_questions_without_tools_are_one_batch_at_half_the_price(wire: Wire, kind: type[BatchServer]):
    async def main() -> None:
        server = kind(echo(wire))
        async with Loopback(server) as loopback:
            states: list[tuple[int, int]] = []
            agent = Agent(wire.model(loopback.url), tools=None)
            full = await_cost(wire, agent)
            answers = await batch(agent, QUESTIONS, on_progress=lambda state: states.append((state.done, state.total)))
            assert [one.answer for one in answers] == ["ONE?", "TWO?", "THREE?"]
            assert [one.id for one in answers] == ["1", "2", "3"]
            assert all(one.success for one in answers)
            assert len(server.batches) == 1
            assert answers[0].cost == pytest.approx(full / 2)
            assert states[-1] == (3, 3)
            assert agent.model is not None
            assert type(agent.model).__name__ == type(wire.model(loopback.url)).__name__

    asyncio.run(main())


def await_cost(wire: Wire, agent: Agent[Any]) -> float:
    prices = agent.model.profile.prices
    assert prices is not None
    assert prices.cached is not None
    read, wrote, cached = wire.usage
    return ((read - cached) * prices.input + cached * prices.cached + wrote * prices.output) / 1e6


def add_up(wire: Wire) -> Any:
    """A model that asks for a sum first, and then says what came of it."""

    def say(body: Any) -> Any:
        sent = wire.sent({"stream": False, **body})
        if sent.results:
            return body_of(wire, Sample(f"It is {sent.results[-1][1]}."))
        number = int(sent.texts[-1])
        return body_of(wire, Sample(calls=((f"call_{number}", "double", {"n": number}),), finish="calls"))

    return say


@pytest.mark.parametrize(("wire", "kind"), SERVERS)
def test_runs_with_tools_take_a_batch_for_each_round(wire: Wire, kind: type[BatchServer]):
    @tool
    def double(n: int) -> int:
        """Doubles."""
        return 2 * n

    async def main() -> None:
        server = kind(add_up(wire))
        async with Loopback(server) as loopback:
            agent = Agent(wire.model(loopback.url), tools=[double])
            answers = await batch(agent, ["1", "2", "3", "4"])
            assert [one.answer for one in answers] == ["It is 2.", "It is 4.", "It is 6.", "It is 8."]
            assert [len(requests) for requests in server.batches.values()] == [4, 4]

    asyncio.run(main())


def test_a_request_that_was_lost_comes_into_the_next_round():
    async def main() -> None:
        wire = AnthropicWire()
        server = AnthropicServer(echo(wire))
        server.lost = {"batch_1"}
        async with Loopback(server) as loopback:
            agent = Agent(wire.model(loopback.url), tools=None, retry={"attempts": 2, "base": 0.0})
            answers = await batch(agent, QUESTIONS)
            assert [one.answer for one in answers] == ["ONE?", "TWO?", "THREE?"]
            assert [len(requests) for requests in server.batches.values()] == [3, 1]

    asyncio.run(main())


@pytest.mark.parametrize("journaled", [False, True])
def test_a_program_that_was_killed_waits_for_the_batch_that_it_handed_in(tmp_path: Path, journaled: bool):
    async def main() -> None:
        wire = ChatWire()
        server = OpenAIServer(echo(wire))
        server.never = True
        path = tmp_path / "answers.jsonl"
        async with Loopback(server) as loopback:

            def agent() -> Agent[Any]:
                journal = open_journal(tmp_path / "runs.db") if journaled else None
                return Agent(wire.model(loopback.url), tools=None, journal=journal)

            first = agent()
            task = asyncio.create_task(batch(first, QUESTIONS, path=path))
            while not server.polls:  # noqa: ASYNC110 - the server has no event for it
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            if first.journal is not None:
                await first.journal.aclose()
            server.never = False
            second = agent()
            answers = await batch(second, QUESTIONS, path=path)
            assert [one.answer for one in answers] == ["ONE?", "TWO?", "THREE?"]
            assert len(server.batches) == 1
            before = len(loopback.received)
            assert await batch(second, QUESTIONS, path=path) == answers
            assert len(loopback.received) == before
            if second.journal is not None:
                await second.journal.aclose()

    asyncio.run(main())


def test_without_an_interface_some_are_worked_on_at_a_time(tmp_path: Path):
    running = most = 0

    async def slow(request: Any) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        running -= 1
        return "fine"

    @tool
    async def work() -> str:
        """Works."""
        return await slow(None)

    async def main() -> None:
        model = ScriptedModel([lambda request: "fine"] * 7)
        answers = await Agent(model, tools=None).batch([f"q{n}" for n in range(7)], together=2)
        assert [one.answer for one in answers] == ["fine"] * 7
        with pytest.raises(ConfigError, match="no batch interface"):
            await Agent(ScriptedModel(["x"]), tools=None).batch(["q"], interface=True)

    asyncio.run(main())


def test_a_failure_is_one_answer_and_not_the_end(tmp_path: Path):
    async def main() -> None:
        def say(request: Any) -> Any:
            if "bad" in request.messages[-1].content:
                raise RuntimeError("broken")
            return "fine"

        agent = Agent(ScriptedModel([say] * 20), tools=None, retry={"attempts": 1})
        states: list[BatchState] = []
        answers = await agent.batch(["good", "bad", "good too"], together=1, on_progress=states.append)
        assert [one.success for one in answers] == [True, False, True]
        assert answers[1].error
        assert states[-1].failed == 1

    asyncio.run(main())


def test_a_line_that_was_cut_off_is_asked_again(tmp_path: Path):
    path = tmp_path / "answers.jsonl"
    path.write_text('{"id": "1", "answer": "kept", "stop_reason": "answer", "success": true}\n{"id": "2", "ans')

    async def main() -> None:
        agent = Agent(ScriptedModel(["new"]), tools=None)
        answers = await agent.batch(["a", "b"], path=path)
        assert [one.answer for one in answers] == ["kept", "new"]
        assert [one.answer for one in await agent.batch(["a", "b"], path=path)] == ["kept", "new"]

    asyncio.run(main())


def test_ids_of_questions():
    assert tasks_of(["a", {"id": "x", "question": "b"}, {"question": "c"}]) == {"1": "a", "x": "b", "3": "c"}
    with pytest.raises(ConfigError, match="id 'x'"):
        tasks_of([{"id": "x", "question": "a"}, {"id": "x", "question": "b"}])


def test_only_providers_themselves_are_known_to_have_an_interface():
    here = Agent(ChatWire().model("http://127.0.0.1:9"), tools=None)
    assert Batch(here, ["q"])._api is None
    from treadle import OpenAIModel

    assert Batch(Agent(OpenAIModel("gpt-4o", api_key="k"), tools=None), ["q"])._api is not None
    assert Batch(Agent(OpenAIModel("gpt-4o", api_key="k"), tools=None), ["q"], interface=False)._api is None
