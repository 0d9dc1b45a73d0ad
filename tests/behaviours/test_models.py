"""What is known about models, models by name and role, reasoning. Retries and fallbacks are in test_loop.py."""

from __future__ import annotations

import pytest

from kit import echo, go
from models.loopback import Loopback, reply
from models.openai.chat_kit import whole
from treadle import Agent, ModelRegistry, OpenAIModel, Reply, ScriptedModel
from treadle._types.errors import ConfigError, UnknownModelError
from treadle._types.events import ThinkDone
from treadle._types.profile import Profile


def test_abilities_come_from_a_profile_or_an_override_never_from_a_guess():
    model = OpenAIModel("gpt-4o", api_key="k-not-real")
    assert model.profile.tool_call
    assert model.profile.window
    assert model.profile.prices
    assert {"tool_call", "json_mode", "json_schema", "streaming", "reasoning", "vision"} <= set(model.profile.abilities)
    assert not OpenAIModel("gpt-4o", api_key="k-not-real", abilities={"tool_call": False}).profile.tool_call
    unknown = OpenAIModel("nobody-knows-this-one", base_url="http://127.0.0.1:1/v1")
    assert unknown.profile.prices is None
    with pytest.raises(ValueError, match="json_mode"):
        OpenAIModel("gpt-4o", api_key="k-not-real", abilities={"telepathy": True})
    plain = ScriptedModel(
        ['{"type": "final_answer", "answer": "x"}'], abilities={"tool_call": False, "json_schema": False}
    )
    go(Agent(plain, [echo]).run("q"))
    assert plain.requests[0].tools == ()


def test_model_registry():
    registry = ModelRegistry()
    with pytest.raises(ConfigError):
        _ = registry.default
    first, second, third = (ScriptedModel([], name=name) for name in ("first", "second", "third"))
    registry.register("first", first, "fast")
    assert registry.default is first
    registry.register("second", second, "general")
    registry.register("third", third, ["general", "reasoning"])
    assert registry.default is second
    assert registry.role("fast") is first
    assert registry.role("reasoning") is third
    assert registry.role("nonsense") is second
    with pytest.raises(ConfigError, match="second"):
        registry.register("second", third)
    with pytest.raises(UnknownModelError, match="third"):
        registry.get("thirt")


@pytest.mark.parametrize("native", [True, False])
async def test_reasoning_is_kept_apart_and_shown_when_the_action_has_none(native: bool):
    opaque = {"signature": "s1"}
    if native:
        script = [Reply(calls=(), reasoning="deep thought", text="", finish="stop"), "x"]
        script = [
            lambda r: Reply(reasoning="deep thought", calls=_calls(), finish="calls", opaque=opaque),
            "the answer",
        ]
    else:
        script = [
            Reply(reasoning="deep thought", text='{"tool_name": "echo", "tool_args": {"text": "a"}}'),
            '<think>hidden {"tool_name": "echo"}</think>{"type": "final_answer", "answer": "the answer"}',
        ]
    model = ScriptedModel(script, abilities={} if native else {"tool_call": False, "json_schema": False})
    events = [e async for e in Agent(model, [echo], dialect="auto:json").stream("q")]
    thoughts = [e for e in events if isinstance(e, ThinkDone)]
    assert thoughts[0].thought == "deep thought"
    assert "deep thought" not in thoughts[0].message.text
    assert thoughts[-1].answer == "the answer"
    if native:
        sent_back = model.requests[1].messages[-2]
        assert sent_back.opaque == opaque
        assert sent_back.reasoning == "deep thought"


def _calls():
    from treadle._types.request import RawCall

    return (RawCall("c1", "echo", '{"text": "a"}'),)


async def test_a_profile_maps_parameters():
    profile = Profile(tool_call=True, accepts_temperature=False, token_cap_name="max_completion_tokens")
    assert profile.with_abilities({"tool_call": False}).forced_tool is False
    async with Loopback([reply(whole(content="done"))]) as server:
        model = OpenAIModel("m", base_url=server.url, profile=profile)
        assert (await Agent(model, [echo], temperature=0.5, max_tokens=9).run("q")).answer == "done"
        body = server.received[0].json
        assert (body.get("max_completion_tokens"), body.keys() & {"temperature", "max_tokens"}) == (9, set())
