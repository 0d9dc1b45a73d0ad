"""First contact is harmless: bounded, cached, blind to redirects and to nonsense, and never made with vendors."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from kit import go
from models.contact.replayed import Kind, eight_kinds
from models.loopback import Answer, Loopback, Received, reply
from treadle import OpenAIModel
from treadle._dialects.registry import choose_dialect
from treadle._models.contact import recognize as recognizing
from treadle._models.contact.address import is_vendors
from treadle._types.messages import UserMessage
from treadle._types.profile import Profile
from treadle._types.request import Request


async def met(loopback: Loopback, name: str = "m", **options: Any) -> Any:
    model = OpenAIModel(name, base_url=f"{loopback.url}/v1", **options)
    await model.meet()
    return model


@pytest.mark.parametrize(
    "answer",
    [
        Answer(302, headers={"location": "http://127.0.0.1:9/v1/models", "content-length": "0"}, length=True),
        reply([1, 2]),
        reply({"data": "nothing"}),
        reply({"data": [None, 7, {"id": 5, "owned_by": ["llamacpp"]}]}),
        Answer(pieces=[b"[" * 100_000], length=True),
        Answer(pieces=[b"\xff\xfe{}"], length=True),
        Answer(pieces=[b"{", b"x" * 5_000_000]),
        Answer(fault="reset"),
        reply({"error": "no"}, 500),
    ],
    ids=["redirect", "list", "text", "types", "deep", "bytes", "large", "reset", "error"],
)
def test_a_hostile_reply_changes_nothing(answer: Answer):
    async def main() -> None:
        async with Loopback(lambda request: answer) as loopback:
            model = await met(loopback)
            assert (model.name, model.profile) == ("m", Profile(tool_call=True))
            assert len(loopback.received) == 1

    go(main())


def test_impossible_values_are_as_good_as_none():
    kind = Kind("liar", [{"id": "m", "owned_by": "llamacpp", "meta": {"n_params": -1, "n_ctx": 3}}])
    kind.own["/props"] = {"default_generation_settings": {"n_ctx": 10**40}, "chat_template_caps": {"x": 1}}

    async def main() -> None:
        async with Loopback(kind) as loopback:
            profile = (await met(loopback)).profile
            assert (profile.window, profile.parameters, profile.tool_call) == (None, None, True)

    go(main())


def test_a_silent_server_is_waited_for_a_bounded_time_and_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recognizing, "SECONDS", 0.05)

    async def main() -> None:
        async with Loopback([Answer(fault="stall", before_headers=True)]) as loopback:
            await met(loopback)
            assert list(recognizing._known.values()) == [None], "it is remembered that nothing was said"
            await met(loopback)
            assert len(loopback.received) <= 1, "a busy machine may give up before the request is out"

    go(main())


def test_what_was_found_out_is_not_asked_again():
    async def main() -> None:
        kind = eight_kinds()[0]
        async with Loopback(kind) as loopback:
            first = await met(loopback, "model.gguf")
            await first.meet()
            again = await met(loopback, "model.gguf")
            assert again.profile == first.profile
            assert len(kind.received) == 3, "its models, what it is, and its adapters"

    go(main())


def test_runs_that_begin_together_ask_once_and_one_that_leaves_stops_no_other():
    async def main() -> None:
        kind = eight_kinds()[0]
        async with Loopback(kind) as loopback:
            tasks = [asyncio.create_task(met(loopback, "model.gguf")) for _ in range(20)]
            await asyncio.sleep(0)
            tasks[0].cancel()  # who came first
            models = await asyncio.gather(*tasks, return_exceptions=True)
            assert len(kind.received) == 3, "its models, what it is, and its adapters"
            assert {model.profile.window for model in models[1:]} == {models[1].profile.window}
            assert models[1].profile.window is not None

    go(main())


def test_a_given_profile_and_a_vendors_host_are_not_asked():
    async def main() -> None:
        async with Loopback(eight_kinds()[0]) as loopback:
            given = Profile(window=9_999)
            assert (await met(loopback, profile=given)).profile == given
            assert (await met(loopback, "gpt-4o")).profile.window == 128_000
            assert loopback.received == []

    go(main())
    for url in ("https://api.openai.com/v1", "https://x.openai.azure.com/openai/v1", "https://api.groq.com/openai/v1"):
        assert is_vendors(url)
    for url in ("http://localhost:11434/v1", "https://api.openai.com.evil.example/v1", "http://10.0.0.2/v1"):
        assert not is_vendors(url)


def test_the_key_goes_to_the_server_it_was_given_for_and_nowhere_else():
    seen: list[Received] = []

    def elsewhere(request: Received) -> Answer:
        seen.append(request)
        return reply({})

    async def main() -> None:
        async with Loopback(elsewhere) as other:
            moved = Answer(307, headers={"location": f"{other.url}/v1/models", "content-length": "0"}, length=True)
            async with Loopback(lambda request: moved) as loopback:
                await met(loopback, api_key="the-key-0123456789")
                assert loopback.received[0].headers["authorization"] == "Bearer the-key-0123456789"
        assert seen == []

    go(main())


def test_the_list_counts_also_when_the_servers_own_interface_fails():
    kind = Kind("half", [{"id": "m", "owned_by": "llamacpp", "meta": {"n_params": 494_000_000, "n_ctx": 2048}}])

    def broken(request: Received) -> Answer:
        return Answer(fault="reset", before_headers=True) if request.path == "/props" else kind(request)

    async def main() -> None:
        async with Loopback(broken) as loopback:
            profile = (await met(loopback)).profile
            assert (profile.tiny, profile.grammar, profile.window, profile.tool_call) == (True, True, 2048, False)

    go(main())


OURS = {"id": 0, "path": "/home/ada/.cache/treadle/adapters/treadle-0.5b-9-2ece7891.gguf", "scale": 1.0}


@pytest.mark.parametrize(
    ("loaded", "adapter"),
    [
        ([OURS], "treadle-0.5b-9"),
        ([{**OURS, "path": "/x/poems.gguf"}], ""),
        ({"error": "no"}, ""),
    ],
)
def test_a_server_with_our_adapter_is_asked_as_in_process(loaded: Any, adapter: str):
    kind = eight_kinds()[0]
    kind.own["/lora-adapters"] = loaded

    async def main() -> None:
        async with Loopback(kind) as loopback:
            model = await met(loopback, "model.gguf")
            assert (model.profile.adapter, model.profile.tiny) == (adapter, not adapter)
            plain = msgspec.json.decode(model.body_of(Request([UserMessage("hi")])))
            tuned = msgspec.json.decode(model.body_of(Request([UserMessage("hi")], tuned=True)))
            scales = [body.get("lora", [{"scale": None}])[0]["scale"] for body in (plain, tuned)]
            assert scales == ([0.0, 1.0] if adapter else [None, None])
            assert choose_dialect("auto", model.profile).name == ("compact" if adapter else "brief")

    go(main())
