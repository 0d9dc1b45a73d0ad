"""One exchange with an adapter over a real connection, and what must be true of it: shared by the contract tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Sequence
from typing import Any

import pytest

from models.contract import KEY, Sample, Wire
from models.loopback import Answer, Loopback
from treadle._models.base import Model, complete
from treadle._models.http_model import HttpModel
from treadle._types.errors import ModelError
from treadle._types.messages import SystemMessage, UserMessage
from treadle._types.request import Delta, Reply, Request, ToolSchema

HELLO = Sample("Grüße, 世界 😀! How are you?")
CALLS = Sample(calls=(("call_a", "add", {"a": 1, "b": [2, "ü"]}), ("call_b", "now", {})), finish="calls")
THOUGHT = Sample("So: 4.", reasoning="Two and two… is four.")
BOTH = Sample("Let me look.", calls=(("call_c", "search", {"q": "x"}),), finish="calls")
CUT = Sample("And then", finish="length")
SAMPLES = [HELLO, CALLS, THOUGHT, BOTH, CUT]
TOOLS = (
    ToolSchema("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}),
    ToolSchema("now", "The time.", {"type": "object", "properties": {}}),
)
ASK = Request([SystemMessage("Be brief."), UserMessage("hi")])


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(coroutine)


def fed(model: HttpModel, *documents: Any) -> tuple[Reply, list[Delta]]:
    """What a model's reader makes of these documents."""
    reader = model.reader_of(ASK)
    payloads = [document if isinstance(document, bytes) else json.dumps(document).encode() for document in documents]
    deltas = [delta for payload in payloads for delta in reader.feed(payload)]
    return reader.reply(), deltas


async def ask(model: Model, request: Request = ASK) -> tuple[Reply, list[Delta]]:
    deltas: list[Delta] = []
    return await complete(model, request, deltas.append), deltas


def exchanges(
    wire: Wire, answers: Sequence[Answer], request: Request = ASK, **options: Any
) -> list[tuple[Reply, list[Delta]]]:
    """One exchange for each answer, all with one model at one server."""

    async def main() -> list[tuple[Reply, list[Delta]]]:
        async with Loopback(answers) as server:
            model = wire.model(server.url, **options)
            return [await ask(model, request) for _ in answers]

    return run(main())


def exchange(wire: Wire, answer: Answer, request: Request = ASK, **options: Any) -> tuple[Reply, list[Delta]]:
    return exchanges(wire, [answer], request, **options)[0]


def all_fail(wire: Wire, answers: Sequence[Answer], *, streaming: bool, **options: Any) -> list[Any]:
    """The error that each answer leads to."""

    async def main() -> list[ModelError]:
        errors: list[ModelError] = []
        async with Loopback(answers) as server:
            model = wire.model(server.url, **options)
            for answer in answers:
                with pytest.raises(ModelError) as caught:
                    await ask(model, ASK.replace(stream=streaming))
                    pytest.fail(f"no error from {answer}")
                assert KEY not in repr(caught.value)
                assert KEY not in str(caught.value)
                assert caught.value.usage.requests == 1
                assert caught.value.provider
                errors.append(caught.value)
        return errors

    return run(main())


def check(reply: Reply, sample: Sample, wire: Wire) -> None:
    assert (reply.text, reply.reasoning, reply.finish) == (sample.text, sample.reasoning, sample.finish)
    assert [call.name for call in reply.calls] == [name for _, name, _ in sample.calls]
    assert [json.loads(call.arguments) for call in reply.calls] == [arguments for _, _, arguments in sample.calls]
    assert len({call.id for call in reply.calls} - {""}) == len(sample.calls)
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens) == wire.usage
    assert reply.usage.requests == 1
