"""The model to probe, from a name or an address."""

from __future__ import annotations

import asyncio

import pytest

from kit import go
from models.catalog.servers import EVERYTHING, Server, examine
from models.loopback import Answer, Loopback, Received, reply
from treadle._models.catalog.probe_target import ALL_ABILITIES, target_of
from treadle._types.errors import BadReplyError, ConfigError, RequestRefusedError, UnknownModelError
from treadle._types.profile import Profile


def test_the_window_of_a_llamacpp_server_is_the_one_it_was_started_with():
    report = examine(Server(entry={"owned_by": "llamacpp", "meta": {"n_ctx_train": 32768}}))
    assert report.window == 4096


def test_no_key_of_a_provider_goes_to_a_server_at_an_address(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-you-0123456789")
    server = Server()
    examine(server)
    assert server.received
    assert not any("not-for-you" in str(request.headers) for request in server.received)

    async def with_key() -> None:
        async with Loopback(server) as loopback:
            await target_of(loopback.url, api_key="the-right-key")

    server.received.clear()
    go(with_key())
    assert {request.headers.get("authorization") for request in server.received} == {"Bearer the-right-key"}


def test_models_are_chosen_by_name_and_errors_say_what_there_is():
    async def main() -> None:
        async with Loopback(Server()) as loopback:
            target = await target_of(f"{loopback.url}/v1/chat/completions", name="other")
            assert target.model.name == "other"
            assert target.others == ("small-model",)
            assert target.spec == f"{loopback.url}/v1#other"
            with pytest.raises(UnknownModelError, match="it has: small-model, other"):
                await target_of(loopback.url, name="nope")
        async with Loopback(Server(EVERYTHING - {"list"})) as loopback:
            with pytest.raises(ConfigError, match="no OpenAI-compatible server at http://127"):
                await target_of(loopback.url.replace("//", "//user:secret@"))

    go(main())


def test_the_model_that_is_probed_has_every_ability():
    async def main() -> None:
        async with Loopback(Server()) as loopback:
            target = await target_of(loopback.url)
            assert all(getattr(target.model.profile, ability) for ability in ALL_ABILITIES)
            assert target.claimed == Profile(tool_call=True)

    go(main())


@pytest.mark.parametrize("end", ["", "/v1#small-model"])
def test_a_server_that_wants_a_key_says_so(end: str):
    def locked(request: Received) -> Answer:
        return reply({"error": {"message": "who are you"}}, 401)

    async def main() -> None:
        async with Loopback(locked) as loopback:
            with pytest.raises(
                RequestRefusedError, match=r"HTTP 401: who are you \(no key was sent .*--key-env VARIABLE"
            ):
                await target_of(f"{loopback.url}{end}")
            with pytest.raises(RequestRefusedError, match="check that the key"):
                await target_of(f"{loopback.url}{end}", api_key="wrong")

    go(main())


def test_https_to_a_server_without_it_names_the_address():
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    async def main() -> None:
        async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(BadReplyError, match=rf"the server may speak plain HTTP: http://127.0.0.1:{port}/v1"):
                await target_of(f"https://127.0.0.1:{port}")

    go(main())
