"""Chat completions over a connection."""

from __future__ import annotations

import asyncio

import pytest

from kit import row
from models.loopback import Answer, Loopback, reply
from models.openai.chat_kit import ASK, model, whole
from treadle._models.base import complete
from treadle._types.errors import (
    ConfigError,
    ModelError,
)


def test_an_unknown_ability_is_an_error():
    with pytest.raises(ValueError, match="unknown ability 'tools'"):
        model(abilities={"tools": True})


def test_a_typed_error_for_every_status():
    async def main() -> None:
        statuses = range(300, 600)
        async with Loopback([Answer(status, [b"x"], length=True) for status in statuses]) as server:
            asked = model(base_url=server.url)
            for status in statuses:
                with row(status), pytest.raises(ModelError):
                    await complete(asked, ASK)
        assert {received.path for received in server.received} == {"/chat/completions"}

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
