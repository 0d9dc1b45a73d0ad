"""A call of the Messages API over a connection: paused turns are continued, failures count what was spent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from models.anthropic.messages_kit import (
    ASK,
    message,
    model,
    unmarked,
)
from models.contract import AnthropicWire, Sample, event
from models.loopback import Loopback, reply, stream
from treadle._models.anthropic import model as anthropic
from treadle._models.base import complete
from treadle._types.errors import TransientModelError

SEARCH = [
    {"type": "text", "text": "Searching. "},
    {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"query": "x"}},
]


PAUSED = message(SEARCH, "pause_turn", usage={"input_tokens": 10, "output_tokens": 3}, container={"id": "cont_1"})


REST = message(
    [{"type": "web_search_tool_result", "tool_use_id": "srv", "content": []}, {"type": "text", "text": "Found."}],
    usage={"input_tokens": 20, "output_tokens": 4},
)


def test_a_paused_turn_is_continued():
    async def main() -> None:
        async with Loopback([reply(PAUSED), reply(REST)]) as server:
            result = await complete(model(base_url=server.url), ASK)
            assert (result.text, result.finish) == ("Searching. Found.", "stop")
            assert (result.usage.input_tokens, result.usage.output_tokens, result.usage.requests) == (30, 7, 2)
            again = server.received[1].json
            assert again["messages"][-1] == {"role": "assistant", "content": SEARCH}
            assert unmarked(again["messages"][:-1]) == server.received[0].json["messages"]
            assert again["container"] == "cont_1"
            assert result.opaque is not None
            assert result.opaque["content"] == SEARCH + REST["content"]

    asyncio.run(main())


def test_a_paused_stream_is_continued_as_one_stream():
    def events(document: dict[str, Any]) -> str:
        out = event({"type": "message_start", "message": document | {"content": [], "stop_reason": None}})
        for index, block in enumerate(document["content"]):
            out += event({"type": "content_block_start", "index": index, "content_block": block})
            out += event({"type": "content_block_stop", "index": index})
        out += event(
            {"type": "message_delta", "delta": {"stop_reason": document["stop_reason"]}, "usage": document["usage"]}
        )
        return out + event({"type": "message_stop"})

    async def main() -> None:
        async with Loopback([stream(events(PAUSED)), stream(events(REST))]) as server:
            texts: list[str] = []
            result = await complete(
                model(base_url=server.url), ASK.replace(stream=True), lambda delta: texts.append(delta.text)
            )  # type: ignore[union-attr]
            assert result.text == "".join(texts) == "Searching. Found."

    asyncio.run(main())


def test_pauses_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(anthropic, "MAX_CONTINUATIONS", 2)

    async def main() -> None:
        async with Loopback([reply(PAUSED)]) as server:
            result = await complete(model(base_url=server.url), ASK)
            assert (result.finish, len(server.received), result.usage.requests) == ("pause", 3, 3)

    asyncio.run(main())


def test_a_failure_after_a_pause_says_what_was_spent():
    async def main() -> None:
        async with Loopback([reply(PAUSED), AnthropicWire().error(529, "Overloaded")]) as server:
            with pytest.raises(TransientModelError) as caught:
                await complete(model(base_url=server.url), ASK)
            usage = caught.value.usage
            assert (usage.input_tokens, usage.output_tokens, usage.requests) == (10, 3, 2)

    asyncio.run(main())


def test_a_stream_that_breaks_says_what_is_known_to_be_spent():
    wire = AnthropicWire()

    async def main() -> None:
        async with Loopback([stream(*wire.events(Sample("hello there"))[:3], fault="reset")]) as server:
            with pytest.raises(TransientModelError) as caught:
                await complete(model(base_url=server.url), ASK.replace(stream=True))
            assert (caught.value.usage.input_tokens, caught.value.usage.cached_tokens) == (100, 40)

    asyncio.run(main())


def test_addresses():
    assert model(base_url="https://x/v1", api_key="k")._endpoint(False).url == "https://x/v1/messages"
    assert model(base_url="https://x/anthropic/", api_key="k")._endpoint(False).url == "https://x/anthropic/v1/messages"
    assert model(api_key="k")._connection.headers["anthropic-version"] == "2023-06-01"
