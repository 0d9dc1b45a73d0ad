"""Results of probes are kept and used by later models."""

from __future__ import annotations

import msgspec

from kit import add, go, row
from models.catalog.servers import EVERYTHING, Server
from models.loopback import Loopback
from treadle import Agent, OpenAIModel, ScriptedModel
from treadle._models.catalog.probe import probe
from treadle._models.catalog.probe_target import target_of
from treadle._models.catalog.probed_profiles import (
    ProbedProfile,
    load_probed_profile,
    profile_path,
    save_probed_profile,
)
from treadle._models.catalog.registry import resolve_model
from treadle._types.profile import Profile


def test_a_later_agent_uses_the_dialect_that_the_probe_chose():
    async def main() -> None:
        async with Loopback(Server(EVERYTHING - {"tools"}, entry={"context_length": 2048})) as loopback:
            base = f"{loopback.url}/v1"
            before = OpenAIModel("small-model", base_url=base, abilities={"tool_call": True})
            assert before.profile.tool_call
            target = await target_of(loopback.url)
            report = await probe(target.model, target.claimed, window=target.window)
            path = save_probed_profile(report.probed_profile())
            assert path == profile_path("openai", "small-model", base)
            model = resolve_model("openai:small-model", base_url=base)
            assert (model.profile.dialect, model.profile.tool_call, model.profile.json_schema) == (
                "schema",
                False,
                True,
            )
            assert model.profile.window == 2048
            agent = Agent(model, [add])
            result = await agent.run("2 + 2?")
            assert result.metadata["dialect"] == "schema"
            # Another address, another model, or the user's own word: not touched by it.
            assert OpenAIModel("small-model", base_url=f"{loopback.url}/v2").profile.dialect is None
            assert OpenAIModel("other", base_url=base).profile.dialect is None
            own = OpenAIModel("small-model", base_url=base, abilities={"tool_call": True})
            assert (own.profile.dialect, own.profile.tool_call) == (None, True)

    go(main())


def test_a_probed_native_model_that_the_user_says_cannot_call():
    probed = ProbedProfile(
        "openai", "m", "http://127.0.0.1:1/v1", "native", {"tool_call": True, "parallel_calls": True}
    )
    save_probed_profile(probed)
    assert load_probed_profile("openai", "m", "http://127.0.0.1:1/v1") == probed
    assert OpenAIModel("m", base_url="http://127.0.0.1:1/v1").profile.dialect == "native"
    denied = OpenAIModel("m", base_url="http://127.0.0.1:1/v1", abilities={"tool_call": False}).profile
    assert (denied.dialect, denied.tool_call, denied.parallel_calls) == (None, False, False)


def test_only_abilities_with_a_finding_are_stored():
    report = go(probe(ScriptedModel(lambda request: "Paris"), Profile(vision=True, reasoning=True)))
    probed = report.probed_profile()
    assert probed.abilities["tool_call"] is False
    assert "vision" not in probed.abilities
    assert "reasoning" not in probed.abilities
    assert "answers" not in probed.abilities


def test_a_broken_file_is_ignored():
    for content in [b"", b"{", b"[1]", b'{"provider": "openai"}', b'{"dialect": "nonsense"}', b"\xff\xfe"]:
        with row(content):
            path = profile_path("openai", "m", "http://127.0.0.1:1/v1")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            assert OpenAIModel("m", base_url="http://127.0.0.1:1/v1").profile.dialect is None


def test_a_file_of_another_model_is_not_used():
    path = profile_path("openai", "m", "here")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(ProbedProfile("openai", "other", "here", "native")))
    assert load_probed_profile("openai", "m", "here") is None
