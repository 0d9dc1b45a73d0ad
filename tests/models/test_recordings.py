"""Every recorded exchange is read right: over a real connection, and streams however they are split."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kit import row
from models.contract import HOW, WIRES, model_for
from models.loopback import Answer, Loopback, split
from models.recordings import Expected, Pair, expected, pairs
from treadle._models.base import complete
from treadle._models.catalog.registry import _LAZY_IMPORTS
from treadle._models.http_model import HttpModel
from treadle._models.transport.sse import SSEParser
from treadle._types.errors import ModelError
from treadle._types.messages import UserMessage
from treadle._types.request import CallDelta, Delta, ReasoningDelta, Reply, Request, TextDelta

REQUEST = Request([UserMessage("hi")])


def answer_of(pair: Pair, size: int | None = None) -> Answer:
    data = pair.body.encode()
    kind = pair.headers.get("content-type", "")
    if "/" not in kind:  # the recording masked it
        kind = "text/event-stream" if pair.sse else "application/json"
    headers = {**pair.headers, "content-type": kind}
    return Answer(pair.status, split(data, size) if size else [data], headers)


def got(reply: Reply) -> Expected:
    usage = reply.usage
    assert usage.requests == 1
    return Expected(
        reply.text,
        tuple((call.id, call.name, call.arguments) for call in reply.calls),
        reply.reasoning,
        (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens),
        reply.finish,
    )


def same(actual: Expected, wanted: Expected) -> bool:
    """Arguments are compared as values, because their spacing varies; an id is compared only where there was one."""

    def calls(value: Expected) -> list[Any]:
        return [
            (wanted_id and call_id, name, json.loads(arguments or "{}"))
            for (call_id, name, arguments), (wanted_id, _, _) in zip(value.calls, wanted.calls, strict=False)
        ]

    plain = [(value.text, value.reasoning, value.usage, value.finish, len(value.calls)) for value in (actual, wanted)]
    return plain[0] == plain[1] and calls(actual) == calls(wanted)


def check_deltas(deltas: list[Delta], reply: Reply) -> None:
    if reply.finish != "refusal":
        assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == reply.text
    assert "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta)) == reply.reasoning
    for index, call in enumerate(reply.calls):
        mine = [delta for delta in deltas if isinstance(delta, CallDelta) and delta.index == index]
        assert ("".join(d.id for d in mine), "".join(d.name for d in mine)) == (call.id, call.name)
        assert "".join(d.arguments for d in mine) == call.arguments
        assert [d.done for d in mine].count(True) == 1
        assert mine[-1].done


async def ask(model: HttpModel, stream: bool) -> tuple[Reply, list[Delta]]:
    deltas: list[Delta] = []
    reply = await complete(model, REQUEST.replace(stream=stream), deltas.append)
    return reply, deltas


def replay(chosen: Sequence[Pair], size: int | None) -> None:
    async def main() -> None:
        async with Loopback([answer_of(pair, size) for pair in chosen]) as server:
            for pair in chosen:
                await replay_one(pair, model_for(pair.api, server.url, pair.provider))

    asyncio.run(main())


async def replay_one(pair: Pair, model: HttpModel) -> None:
    wanted = expected(pair)
    if wanted.error:
        with pytest.raises(ModelError) as caught:
            await ask(model, pair.sse)
        assert type(caught.value) is wanted.error, pair.id
        return
    reply, deltas = await ask(model, pair.sse)
    assert same(got(reply), wanted), (pair.id, got(reply), wanted)
    if pair.sse:
        check_deltas(deltas, reply)
    else:
        assert not deltas, pair.id


SUPPORTED = pairs()


def test_over_a_connection():
    for api in ["openai.chat", "anthropic.messages"]:
        with row(api):
            replay(pairs(api), None)


def test_over_a_connection_byte_by_byte():
    """The shortest stream of each provider: one byte at a time takes long."""
    longest_first = sorted(SUPPORTED, key=lambda pair: -len(pair.body))
    replay([*{(pair.api, pair.provider): pair for pair in longest_first if pair.sse}.values()], 1)


def test_split_anywhere():
    for size in [1, 7]:
        with row(size):
            for pair in SUPPORTED:
                if pair.sse:
                    reader = model_for(pair.api, "http://127.0.0.1:9", pair.provider).reader_of(REQUEST)
                    parser = SSEParser()
                    pieces = split(pair.body.encode(), size)
                    payloads = [payload for piece in pieces for payload in parser.feed(piece)] + parser.close()
                    deltas = [delta for payload in payloads for delta in reader.feed(payload)]
                    reply = reader.reply()
                    assert same(got(reply), expected(pair)), pair.id
                    check_deltas(deltas, reply)


def test_nothing_is_left_out():
    assert len(pairs()) == 306
    assert (len(pairs("openai.chat")), len(pairs("anthropic.messages"))) == (273, 33)


def test_every_adapter_is_in_the_contract_suite_byte_by_byte_and_the_page_says_so():
    adapters = {name for name in _LAZY_IMPORTS if name != "local"}
    covered = {wire.name.partition("-")[0] for wire in WIRES}
    assert covered == adapters
    assert "one" in HOW, "streams are cut at each byte"
    page = (Path(__file__).resolve().parents[2] / "docs" / "internals" / "models.md").read_text("utf-8")
    table = [line for line in page.splitlines() if line.startswith("|")]
    assert {name for name in (wire.name for wire in WIRES) if any(f"`{name}`" in line for line in table)} == {
        wire.name for wire in WIRES
    }
    assert f"| {len(pairs('openai.chat'))} (" in page
    assert f"| {len(pairs('anthropic.messages'))} (" in page
