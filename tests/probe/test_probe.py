"""What the probe finds out about servers that can do exactly so much."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kit import add, go
from models.loopback import Loopback
from probe.servers import EVERYTHING, Server
from treadle import Agent, OpenAIModel, Reply, ScriptedModel
from treadle._models.catalog.probe import Report, probe
from treadle._models.catalog.probe_target import ALL_ABILITIES, target_of
from treadle._models.catalog.probed_profiles import (
    ProbedProfile,
    load_probed_profile,
    profile_path,
    save_probed_profile,
)
from treadle._models.catalog.registry import resolve_model
from treadle._types.errors import ConfigError, UnknownModelError
from treadle._types.profile import Profile


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREADLE_STATE", str(tmp_path / "state"))


def examine(server: Server, **options: Any) -> Report:
    async def main() -> Report:
        async with Loopback(server) as loopback:
            target = await target_of(loopback.url)
            return await probe(target.model, target.claimed, window=target.window, **options)

    return go(main())


def findings(report: Report) -> dict[str, bool | None]:
    return {found.ability: found.works for found in report.findings}


def note(report: Report, ability: str) -> str:
    return next(found.note for found in report.findings if found.ability == ability)


def test_a_server_that_can_do_everything():
    server = Server(EVERYTHING | {"think"}, entry={"max_model_len": 8192})
    report = examine(server)
    assert findings(report) == dict.fromkeys(
        (
            "usage",
            "answers",
            "streaming",
            "tool_call",
            "tool_result",
            "parallel_calls",
            "forced_tool",
            "json_mode",
            "json_schema",
            "reasoning",
        ),
        True,
    )
    assert (report.dialect, report.window, report.model) == ("native", 8192, "small-model")
    assert report.usage.requests == 8
    assert report.usage.input_tokens == 88
    assert all(not found.note for found in report.findings if found.ability != "reasoning")
    assert (
        next(found for found in report.findings if found.ability == "tool_call").claimed is False
    )  # nobody knows this model
    sent = [request.json for request in server.received if request.body]
    assert [body["tool_choice"] for body in sent if "tool_choice" in body] == [
        {"type": "function", "function": {"name": "get_weather"}}
    ]
    assert {body["response_format"]["type"] for body in sent if "response_format" in body} == {
        "json_object",
        "json_schema",
    }


def test_calls_that_come_as_text_make_it_schema():
    report = examine(Server(EVERYTHING - {"tools", "forced"}))
    assert report.works("tool_call") is False
    assert note(report, "tool_call").startswith("the call came as text: ```json")
    assert report.works("parallel_calls") is False
    assert report.works("forced_tool") is False
    assert note(report, "forced_tool") == "the choice was ignored"
    assert report.dialect == "schema"


def test_a_forced_call_may_work_where_a_free_one_does_not():
    report = examine(Server(EVERYTHING - {"tools"}))
    assert (report.works("tool_call"), report.works("forced_tool"), report.dialect) == (False, True, "schema")


def test_tools_that_are_refused_and_no_constraint_make_it_json():
    report = examine(Server({"stream", "usage", "list"}, refuses=("tools",)))
    assert note(report, "tool_call").startswith("refused: ")
    assert "tools is not supported here" in note(report, "tool_call")
    assert note(report, "forced_tool").startswith("not tried")
    assert (report.works("json_mode"), note(report, "json_mode")) == (False, "JSON with other text around it")
    assert report.works("json_schema") is False
    assert note(report, "json_schema").startswith("the schema was ignored")
    assert report.dialect == "json"


def test_a_schema_that_is_only_json_mode_does_not_count():
    report = examine(Server({"list", "json", "usage"}))
    assert (report.works("json_mode"), report.works("json_schema"), report.dialect) == (True, False, "json")


@pytest.mark.parametrize(
    ("can", "works", "said"),
    [
        (EVERYTHING - {"usage", "stream_usage"}, False, "the server does not report token counts"),
        (EVERYTHING - {"stream_usage"}, True, "only in whole replies, not in streams"),
        (EVERYTHING, True, ""),
    ],
)
def test_usage(can: frozenset[str], works: bool, said: str):
    report = examine(Server(can))
    assert (report.works("usage"), note(report, "usage")) == (works, said)


def test_a_stream_in_one_piece_is_none():
    report = examine(Server(EVERYTHING - {"stream"}))
    assert (report.works("streaming"), note(report, "streaming")) == (False, "the whole reply came in one piece")


def test_a_stream_that_breaks_off_is_not_known_to_work():
    report = examine(Server((EVERYTHING - {"stream"}) | {"half_stream"}))
    assert report.works("streaming") is None
    assert note(report, "streaming")
    assert report.works("tool_call") is True  # one failure does not end the probe


def test_a_server_that_takes_no_temperature():
    report = examine(Server(refuses=("temperature",)))
    assert report.answers
    assert report.accepts_temperature is False
    assert note(report, "answers") == "it accepts no temperature"
    assert report.works("tool_call") is True
    assert report.probed_profile().accepts_temperature is False


def test_a_server_that_takes_no_cap_under_this_name():
    server = Server(refuses=("max_tokens",))
    report = examine(server)
    assert report.answers
    assert report.works("tool_call") is True
    assert report.accepts_temperature is None
    assert server.received[-1].json["temperature"] == 0.0


def test_a_model_that_thinks_long_gets_more_room():
    def answer(request: Any) -> Reply:
        return Reply("Paris", reasoning="hm") if request.max_tokens > 1000 else Reply("", finish="length")

    model = ScriptedModel(answer)
    report = go(probe(model))
    assert report.answers
    assert report.works("reasoning") is True
    assert [request.max_tokens for request in model.requests[:3]] == [512, 4096, 4096]


def test_one_call_where_two_were_asked_for():
    report = examine(Server(EVERYTHING - {"parallel"}))
    assert (report.works("parallel_calls"), note(report, "parallel_calls")) == (False, "1 of 2 calls came")
    assert report.dialect == "native"


def test_silence_is_no_verdict_and_nothing_more_is_tried():
    class Silent(ScriptedModel):
        async def stream(self, request: Any):
            self.requests.append(request)
            await asyncio.sleep(30)
            yield  # pragma: no cover

    model = Silent()
    report = go(probe(model, timeout=0.05), 5)
    assert not report.answers
    assert findings(report) == {"answers": None}
    assert note(report, "answers") == "no complete reply within 0.05 s"
    assert len(model.requests) == 1


def test_a_grammar_is_tried_where_it_is_claimed():
    def answer(request: Any) -> str:
        return "quartz-4" if request.format and request.format.kind == "grammar" else "Paris"

    report = go(probe(ScriptedModel(answer, abilities={"grammar": True})))
    assert (report.works("grammar"), report.works("json_schema"), report.dialect) == (True, False, "schema")


def test_findings_are_told_as_they_come():
    seen: list[str] = []
    examine(Server(), on_finding=lambda found: seen.append(found.ability))
    assert seen[:3] == ["usage", "answers", "streaming"]
    assert seen[-1] == "reasoning"


# ---- what is probed


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
            assert target.spec == f"OpenAIModel('other', base_url='{loopback.url}/v1')"
            with pytest.raises(UnknownModelError, match="it has: text-embed-1, small-model, other"):
                await target_of(loopback.url, name="nope")
        async with Loopback(Server(EVERYTHING - {"list"})) as loopback:
            with pytest.raises(ConfigError, match="no OpenAI-compatible server at http://127"):
                await target_of(loopback.url.replace("//", "//user:secret@"))

    go(main())


# ---- what is kept


def test_a_later_agent_speaks_the_dialect_that_was_found():
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
    known = ProbedProfile("openai", "m", "http://127.0.0.1:1/v1", "native", {"tool_call": True, "parallel_calls": True})
    save_probed_profile(known)
    assert load_probed_profile("openai", "m", "http://127.0.0.1:1/v1") == known
    assert OpenAIModel("m", base_url="http://127.0.0.1:1/v1").profile.dialect == "native"
    denied = OpenAIModel("m", base_url="http://127.0.0.1:1/v1", abilities={"tool_call": False}).profile
    assert (denied.dialect, denied.tool_call, denied.parallel_calls) == (None, False, False)


def test_only_what_was_found_out_is_kept():
    report = go(probe(ScriptedModel(lambda request: "Paris"), Profile(vision=True, reasoning=True)))
    known = report.probed_profile()
    assert known.abilities["tool_call"] is False
    assert "vision" not in known.abilities
    assert "reasoning" not in known.abilities
    assert "answers" not in known.abilities


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b'{"provider": "openai"}', b'{"dialect": "nonsense"}', b"\xff\xfe"]
)
def test_a_broken_file_is_as_good_as_none(content: bytes):
    path = profile_path("openai", "m", "http://127.0.0.1:1/v1")
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert OpenAIModel("m", base_url="http://127.0.0.1:1/v1").profile.dialect is None


def test_a_file_of_another_model_is_not_used():
    path = profile_path("openai", "m", "here")
    path.parent.mkdir(parents=True)
    path.write_bytes(msgspec.json.encode(ProbedProfile("openai", "other", "here", "native")))
    assert load_probed_profile("openai", "m", "here") is None


def test_the_model_that_is_probed_denies_nothing():
    async def main() -> None:
        async with Loopback(Server()) as loopback:
            target = await target_of(loopback.url)
            assert all(getattr(target.model.profile, ability) for ability in ALL_ABILITIES)
            assert target.claimed == Profile()

    go(main())
