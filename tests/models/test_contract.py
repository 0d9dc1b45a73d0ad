"""The contract of the model port, run against every adapter over a real connection."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from kit import row
from models.asking import ASK, BOTH, CALLS, HELLO, SAMPLES, THOUGHT, TOOLS, ask, check, exchange, exchanges, run
from models.clouds import without_cloud_credentials
from models.contract import HOW, KEY, WIRES, Wire
from models.loopback import Answer, Loopback
from treadle._models.http_model import HttpModel
from treadle._types.errors import (
    MissingKeyError,
    TransientModelError,
)
from treadle._types.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from treadle._types.profile import Prices
from treadle._types.request import CallDelta, ReasoningDelta, Request, TextDelta, WireCache

pytestmark = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)


def test_whole_replies(wire: Wire):
    for sample, (reply, deltas) in zip(SAMPLES, exchanges(wire, [*map(wire.whole, SAMPLES)]), strict=True):
        check(reply, sample, wire)
        assert not deltas


def test_streams(wire: Wire):
    for how in HOW:
        with row(how):
            samples = SAMPLES if how != "one" else [THOUGHT, BOTH]  # byte by byte takes long
            answers = [wire.streamed(sample, how) for sample in samples]
            for sample, (reply, deltas) in zip(
                samples, exchanges(wire, answers, ASK.replace(stream=True)), strict=True
            ):
                check(reply, sample, wire)
                assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == reply.text
                assert "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta)) == reply.reasoning
                for index, call in enumerate(reply.calls):
                    mine = [delta for delta in deltas if isinstance(delta, CallDelta) and delta.index == index]
                    assert "".join(delta.id for delta in mine) == call.id
                    assert "".join(delta.name for delta in mine) == call.name
                    assert "".join(delta.arguments for delta in mine) == call.arguments
                    assert [delta.done for delta in mine] == [False] * (len(mine) - 1) + [True]


def test_an_eager_tool_can_start_before_the_reply_is_complete(wire: Wire):
    deltas = exchange(wire, wire.stream(CALLS), ASK.replace(stream=True))[1]
    order = [(delta.index, delta.done) for delta in deltas if isinstance(delta, CallDelta)]
    assert order.index((0, True)) < order.index((1, False))


def test_a_server_that_does_not_stream_though_asked(wire: Wire):
    reply, deltas = exchange(wire, wire.whole(BOTH), ASK.replace(stream=True))
    check(reply, BOTH, wire)
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == BOTH.text


def test_a_server_that_streams_though_not_asked(wire: Wire):
    reply, deltas = exchange(wire, wire.stream(BOTH))
    check(reply, BOTH, wire)
    assert not deltas


def test_a_model_that_cannot_stream_is_not_asked_to(wire: Wire):
    async def main() -> None:
        async with Loopback([wire.whole(HELLO)]) as server:
            reply, deltas = await ask(wire.model(server.url, abilities={"streaming": False}), ASK.replace(stream=True))
            check(reply, HELLO, wire)
            assert deltas
            assert "stream" not in server.received[0].path
            assert not server.received[0].json.get("stream")

    run(main())


def test_the_right_content_with_the_wrong_type(wire: Wire):
    answer = wire.whole(HELLO)
    answer.headers["content-type"] = "application/octet-stream"
    check(exchange(wire, answer)[0], HELLO, wire)


def test_gzip(wire: Wire):
    answer = wire.whole(CALLS)
    answer.gzipped = True
    check(exchange(wire, answer)[0], CALLS, wire)


def test_the_key_goes_where_it_belongs_and_nowhere_else(wire: Wire, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    async def main() -> None:
        async with Loopback([wire.whole(HELLO)]) as server:
            model = wire.model(server.url)
            await ask(model)
            received = server.received[0]
            assert KEY in received.headers[wire.key_header]
            assert KEY not in received.path
            assert KEY.encode() not in received.body
            assert KEY not in repr(model)
            assert KEY not in repr(model._connection)
            with pytest.raises(MissingKeyError, match=r"KEY|CREDENTIALS"):
                await wire.ask_without_key(type(model))

    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    without_cloud_credentials(monkeypatch, tmp_path)
    run(main())


def conversation() -> list[Message]:
    calls = (ToolCall("call_a", "add", {"a": 1}, '{"a": 1}'), ToolCall("call_b", "now", {}))
    return [
        SystemMessage("Be brief."),
        UserMessage("What is the sum?"),
        AssistantMessage("Looking.", calls),
        ToolMessage("call_a", "add", "three"),
        ToolMessage("call_b", "now", "no clock", error=True),
        AssistantMessage("It is three."),
        UserMessage("Thanks."),
    ]


def test_a_conversation_is_written_in_order(wire: Wire):
    async def main() -> None:
        async with Loopback([wire.whole(HELLO)]) as server:
            await ask(wire.model(server.url), Request(conversation(), TOOLS))
            sent = wire.sent(server.received[0].json)
            assert sent.system == "Be brief."
            assert sent.texts == ("What is the sum?", "Looking.", "It is three.", "Thanks.")
            assert [(name, arguments) for _, name, arguments in sent.calls] == [("add", {"a": 1}), ("now", {})]
            assert [text for _, text in sent.results] == ["three", "no clock"]
            assert [call_id for call_id, _, _ in sent.calls] == [call_id for call_id, _ in sent.results]
            assert sent.tools == ("add", "now")

    run(main())


def test_unreadable_arguments_are_sent_back_as_an_object(wire: Wire):
    broken = ToolCall("call_a", "add", {}, '{"a": 1, oops', "not JSON")
    repaired = ToolCall("call_b", "add", {"a": 2}, "{'a': 2}")
    messages = [
        UserMessage("q"),
        AssistantMessage("", (broken, repaired)),
        ToolMessage("call_a", "add", "x"),
        ToolMessage("call_b", "add", "y"),
    ]

    async def main() -> None:
        async with Loopback([wire.whole(HELLO)]) as server:
            await ask(wire.model(server.url), Request(messages, TOOLS))
            first, second = (arguments for _, _, arguments in wire.sent(server.received[0].json).calls)
            assert '{"a": 1, oops' in first.values()
            assert second == {"a": 2}

    run(main())


def bodies(wire: Wire, requests: list[Request]) -> list[bytes]:
    async def main() -> list[bytes]:
        async with Loopback([wire.whole(HELLO)]) as server:
            model = wire.model(server.url)
            for request in requests:
                await ask(model, request)
            return [received.body for received in server.received]

    return run(main())


def test_a_cached_conversation_is_the_same_on_the_wire(wire: Wire):
    cache = WireCache()
    messages = conversation()
    steps = [messages[:2], messages[:5], messages, messages[:1] + messages[5:], messages]
    with_cache = bodies(wire, [Request(list(step), TOOLS, cache=cache) for step in steps])
    assert with_cache == bodies(wire, [Request(list(step), TOOLS) for step in steps])


def test_each_message_and_the_tools_are_encoded_once(wire: Wire, monkeypatch: pytest.MonkeyPatch):
    written: list[int] = []
    from treadle._models.transport.wire import EncodedMessages

    update = EncodedMessages[Any].update

    def counting(self: EncodedMessages[Any], messages: Any, write: Any) -> Any:
        def count(all_messages: Any, index: int) -> Any:
            written.append(id(all_messages[index]))
            return write(all_messages, index)

        return update(self, messages, count)

    monkeypatch.setattr(EncodedMessages, "update", counting)
    cache = WireCache()
    messages = conversation()
    bodies(wire, [Request(messages[:end], TOOLS, cache=cache) for end in (2, 5, 7)])
    assert len(written) == len(set(written)) == 7
    # A change in the middle costs what changed (and the first two, which may be written as one).
    changed = [*messages[:3], ToolMessage("call_a", "add", "[cut]"), *messages[4:]]
    bodies(wire, [Request(changed, TOOLS, cache=cache)])
    assert len(written) - 7 <= 8


def test_another_model_does_not_use_what_this_one_encoded(wire: Wire):
    cache = WireCache()
    request = Request(conversation(), TOOLS, cache=cache)
    assert bodies(wire, [request])[0] == bodies(wire, [request])[0]


def test_a_tool_choice_changes_the_request_and_nothing_else(wire: Wire):
    choices = ("auto", "none", "required", "add")
    plain, *chosen = bodies(
        wire, [Request(conversation(), TOOLS), *(Request(conversation(), TOOLS, tool_choice=one) for one in choices)]
    )
    for choice, body in zip(choices, chosen, strict=True):
        assert (plain == body) == (choice == "auto")
        assert wire.sent(json.loads(plain)) == wire.sent(json.loads(body)), choice


def test_a_price_gives_a_cost(wire: Wire):
    prices = {"prices": Prices(input=10.0, output=100.0, cached=1.0)}
    reply, _ = exchange(wire, wire.whole(HELLO), abilities=prices)
    read, wrote, cached = wire.usage
    assert reply.usage.cost == pytest.approx(((read - cached) * 10 + cached * 1 + wrote * 100) / 1e6)


def test_an_unknown_price_gives_no_cost(wire: Wire):
    assert exchange(wire, wire.whole(HELLO), abilities={"prices": None})[0].usage.cost is None


def test_the_same_model_on_several_loops(wire: Wire):
    holder: list[HttpModel] = []

    async def main() -> None:
        async with Loopback([wire.whole(HELLO)]) as server:
            model = holder[0] if holder else wire.model(server.url)
            model._endpoints.clear()
            model._connection = wire.model(server.url)._connection
            holder[:] = [model]
            check((await ask(model))[0], HELLO, wire)
            await model.aclose()
            check((await ask(model))[0], HELLO, wire)

    run(main())
    run(main())


def test_a_consumer_that_stops_frees_the_connection(wire: Wire):
    async def main() -> None:
        async with Loopback([wire.stream(HELLO, fault="stall"), wire.whole(HELLO)]) as server:
            model = wire.model(server.url, max_concurrency=1)
            parts = model.stream(ASK.replace(stream=True))
            async for _ in parts:
                break
            await parts.aclose()
            async with asyncio.timeout(30):
                check((await ask(model))[0], HELLO, wire)

    run(main())


def test_cancelling_stops_the_exchange(wire: Wire):
    async def main() -> None:
        async with Loopback([Answer(fault="stall", before_headers=True), wire.whole(HELLO)]) as server:
            model = wire.model(server.url, max_concurrency=1)
            task = asyncio.create_task(ask(model))
            while not server.received:  # noqa: ASYNC110 - the server has no event for it
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            check((await ask(model))[0], HELLO, wire)

    run(main())


def test_a_429_delays_every_model_with_the_same_key(wire: Wire):
    async def main() -> None:
        async with Loopback([wire.error(429, "slow", **{"retry-after": "0.3"}), wire.whole(HELLO)]) as server:
            with pytest.raises(TransientModelError):
                await ask(wire.model(server.url))
            other = wire.model(server.url)
            closed_until = other._limiter._closed_until
            assert closed_until > 0
            await ask(other)
            assert time.monotonic() >= closed_until

    run(main())


def test_no_more_requests_at_once_than_allowed(wire: Wire):
    running = most = 0

    async def main() -> None:
        nonlocal running, most
        answer = wire.whole(HELLO)
        answer.delay = 0.02
        async with Loopback([answer]) as server:
            serve = server._answer

            async def watched(*arguments: Any) -> bool:
                nonlocal running, most
                running += 1
                most = max(most, running)
                try:
                    return await serve(*arguments)
                finally:
                    running -= 1

            server._answer = watched  # type: ignore[method-assign]
            models = [wire.model(server.url, max_concurrency=3) for _ in range(3)]
            await asyncio.gather(*(ask(models[index % 3]) for index in range(12)))

    run(main())
    assert most == 3
