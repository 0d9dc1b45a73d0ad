"""A call of generateContent over a connection: continuations, addresses, keys, the pause a server asks for."""

from __future__ import annotations

import asyncio

import pytest

from models.contract import event
from models.gemini.gemini_kit import ASK, answer, model
from models.loopback import Loopback, reply, stream
from treadle._models.base import complete
from treadle._models.gemini.model import GeminiModel
from treadle._types.errors import TransientModelError


def test_a_reply_with_a_continuation_is_one_reply():
    first = answer([{"text": "one "}], "CONTINUATION", continuationToken="tok") | {
        "usageMetadata": {"promptTokenCount": 5}
    }
    second = answer([{"text": "two"}]) | {"usageMetadata": {"promptTokenCount": 6, "candidatesTokenCount": 2}}

    async def main(streaming: bool) -> None:
        answers = [stream(event(first)), stream(event(second))] if streaming else [reply(first), reply(second)]
        async with Loopback(answers) as server:
            result = await complete(model(base_url=server.url), ASK.replace(stream=streaming))
            assert (result.text, result.finish) == ("one two", "stop")
            assert (result.usage.input_tokens, result.usage.requests) == (11, 2)
            assert server.received[1].json == server.received[0].json | {"continuationToken": "tok"}

    asyncio.run(main(False))
    asyncio.run(main(True))


def test_addresses():
    assert model("models/gemini-x")._endpoint(False).url.endswith("/models/gemini-x:generateContent")
    assert model("gemini-x")._endpoint(True).url.endswith("/models/gemini-x:streamGenerateContent?alt=sse")


def test_either_variable_may_hold_the_key(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv("GOOGLE_API_KEY", "from-google")
    assert GeminiModel("gemini-2.5-flash")._connection.headers["x-goog-api-key"] == "from-google"


def test_the_pause_a_server_asks_for_is_in_the_details():
    error = {
        "code": 429,
        "message": "quota",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "x/RetryInfo", "retryDelay": "17s"}],
    }

    async def main() -> None:
        async with Loopback([reply({"error": error}, 429)]) as server:
            with pytest.raises(TransientModelError) as caught:
                await complete(model(base_url=server.url), ASK)
            assert caught.value.retry_after == 17

    asyncio.run(main())
