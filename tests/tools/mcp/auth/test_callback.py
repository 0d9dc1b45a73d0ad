"""Where a login comes back to."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from kit import go
from treadle._tools.mcp.auth.callback import CallbackListener, LoginFailedError

STATE = "the-state"


async def visited(address: str, method: str = "GET") -> int:
    async with aiohttp.ClientSession() as web, web.request(method, address) as page:
        assert "the-code" not in await page.text()
        return page.status


async def test_only_the_request_with_the_state_counts():
    listener = CallbackListener()
    waiting = asyncio.ensure_future(listener.wait(STATE))
    base, right = listener.address, f"{listener.address}?code=the-code&state={STATE}"
    wrong = (
        f"{base}?code=evil&state=other",
        f"{base}?code=evil",
        f"{base}?state={STATE}&state=x&code=evil",
        f"{base}?state=%C3%A9&code=evil",
        f"{base}?state=%ED%A0%80%FF%00&code=evil",
        right.replace("/callback", "/other"),
    )
    assert [await visited(address) for address in wrong] == [404] * len(wrong)
    assert await visited(right, "POST") == 404
    _, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    writer.write(b"x" * 40_000)
    writer.close()
    assert not waiting.done()
    assert await visited(right) == 200
    assert (await waiting)["code"] == "the-code"
    listener.close()


@pytest.mark.parametrize(
    ("query", "said"), [("error=access_denied", "access_denied"), ("error=RUN%20rm", "known code")]
)
def test_a_refusal_is_its_code_and_nothing_else(query: str, said: str):
    async def main() -> Any:
        listener = CallbackListener()
        waiting = asyncio.ensure_future(listener.wait(STATE))
        assert await visited(f"{listener.address}?{query}&state={STATE}") == 200
        try:
            await waiting
        finally:
            listener.close()

    with pytest.raises(LoginFailedError, match=said):
        go(main())


def test_nobody_comes():
    async def main() -> None:
        listener = CallbackListener()
        try:
            await listener.wait(STATE, 0.01)
        finally:
            listener.close()

    with pytest.raises(LoginFailedError, match="nobody logged in"):
        go(main())
