"""Chat completions over a connection."""

from __future__ import annotations

import asyncio

import pytest

from models.loopback import Answer, Loopback, reply
from models.openai.chat_kit import ASK, TOOLS, model, piece, whole
from treadle._models.base import complete
from treadle._types.errors import (
    ConfigError,
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


async def _later() -> str:
    return "token-three-of-three"


@pytest.mark.parametrize("azure", [True, False])
def test_a_key_that_is_a_function_is_asked_before_each_request(azure: bool):
    """As azure-identity's `get_bearer_token_provider` gives one: tokens expire."""
    tokens = iter(["token-one-of-three", "token-two-of-three"])
    served = [reply(whole()), Answer(401, [b'{"error": {"message": "bad token-two-of-three"}}'], length=True)]

    async def main() -> None:
        async with Loopback([*served, reply(whole())]) as server:
            options = {"provider": "azure"} if azure else {}
            asked = model(base_url=server.url, api_key=lambda: next(tokens), **options)
            await complete(asked, ASK)
            with pytest.raises(ModelError) as refused:
                await complete(asked, ASK)
            assert "***" in str(refused.value), "the token is not shown"
            assert "no key was sent" not in str(refused.value)
            await complete(model(base_url=server.url, api_key=_later, **options), ASK)
            sent = [one.headers["authorization"] for one in server.received]
            assert sent == [f"Bearer token-{name}-of-three" for name in ("one", "two", "three")]
            assert not any("api-key" in one.headers for one in server.received)

    asyncio.run(main())


def test_a_function_that_has_no_token_is_a_clear_error():
    async def main() -> None:
        async with Loopback([]) as server:
            with pytest.raises(ConfigError, match="returned no token"):
                await complete(model(base_url=server.url, api_key=lambda: ""), ASK)

    asyncio.run(main())
