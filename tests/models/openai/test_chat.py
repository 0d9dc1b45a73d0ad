"""Chat completions over a connection."""

from __future__ import annotations

import asyncio

import pytest

from models.loopback import Answer, Loopback, reply
from models.openai.chat_kit import ASK, TOOLS, model, piece, whole
from treadle._models.base import complete
from treadle._types.errors import (
    ModelError,
)
from treadle._types.messages import (
    UserMessage,
)
from treadle._types.request import RawCall, Request


def test_an_unknown_ability_is_an_error():
    with pytest.raises(ValueError, match="unknown ability 'tools'"):
        model(abilities={"tools": True})


def test_over_a_connection_with_everything():
    async def main() -> None:
        async with Loopback(
            [reply(whole("tool_calls", content=None, tool_calls=[piece('{"a":1}', "f", "x")]))]
        ) as server:
            result = await complete(model(base_url=server.url + "/v1"), Request([UserMessage("q")], TOOLS))
            assert result.calls == (RawCall("x", "f", '{"a":1}'),)
            assert server.received[0].path == "/v1/chat/completions"
            assert server.received[0].headers["content-type"] == "application/json"

    asyncio.run(main())


def test_a_typed_error_for_every_status():
    async def main() -> None:
        for status in range(300, 600):
            async with Loopback([Answer(status, [b"x"], length=True)]) as server:
                with pytest.raises(ModelError):
                    await complete(model(base_url=server.url), ASK)

    asyncio.run(main())
