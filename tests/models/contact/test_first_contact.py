"""The first question with a tool, as a new user asks it, to servers of eight kinds: all answer right, or fail with the
reason and the fix. `docs/first_contact.md` shows the table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kit import add, go
from models.contact.replayed import QUESTION, Kind, eight_kinds
from models.loopback import Loopback
from treadle import (
    Agent,
    LocalModel,
    ModelRegistry,
    OpenAIModel,
    RunResult,
    ScriptedModel,
    react_loop,
    resolve_model,
)
from treadle._dialects.registry import choose_dialect
from treadle._types import events as ev
from treadle._types.errors import RequestRefusedError, UnknownModelError

PAGE = Path(__file__).resolve().parents[3] / "docs" / "first_contact.md"
TABLE = {
    "llama.cpp, 0.5B": ("llamacpp", 0.494, 4096, "brief", ""),
    "Ollama, 3B": ("ollama", 3.213, 8192, "direct", ""),
    "vLLM without a tool parser": ("vllm", 8.0, 40960, "schema", "native"),
    "LM Studio, 7B": ("lmstudio", 7.0, 4096, "native", ""),
    "TGI": ("tgi", 8.0, 8192, "native", ""),
    "LiteLLM": ("litellm", None, 128000, "native", ""),
    "unknown, native calls": ("", None, None, "native", ""),
    "unknown, refuses tools": ("", None, None, "json", "native"),
}
"""The server as recognized, billions of parameters, the window, the dialect at the end, and the one before it."""


async def asked(kind: Kind, spec: str = "{url}/v1", **options: Any) -> tuple[Agent, RunResult, list[ev.Event]]:
    async with Loopback(kind) as loopback:
        agent = Agent(resolve_model(spec.replace("{url}", loopback.url)), [add], retry={"attempts": 1}, **options)
        run = agent.start(QUESTION)
        result = await run
        return agent, result, [record.event for record in run.records]


@pytest.mark.parametrize("kind", eight_kinds(), ids=lambda kind: kind.title)
def test_the_first_question_is_answered_by_a_server_of_every_kind(kind: Kind):
    agent, result, events = go(asked(kind))
    assert "5" in result.answer
    assert result.success
    assert result.tools_used == ["add"]
    model: Any = agent.model
    server, size, window, dialect, before = TABLE[kind.title]
    contact = go(model.contact())
    assert contact is not None
    assert contact.server == server
    assert model.profile.parameters == (pytest.approx(size, abs=0.001) if size else None)
    assert model.profile.window == window
    demoted = [event for event in events if isinstance(event, ev.DialectDemoted)]
    assert result.metadata["dialect"] == dialect
    assert [event.previous for event in demoted] == ([before] if before else [])
    # At most two cheap requests, a third where the server may have our adapter, and none that the answer did not need.
    assert len(kind.received) - len(kind.chats) <= (3 if "0.5B" in kind.title else 2)
    assert len(kind.chats) == 2 + len(demoted)


def test_the_page_shows_this_table():
    rows = re.findall(r"^\| (.+?) \| (\w*) ?\|.*?\| `(\w+)`", PAGE.read_text(), re.MULTILINE)
    shown = {title: (server, dialect) for title, server, dialect in rows}
    assert shown == {title: (server or "unknown", dialect) for title, (server, _, _, dialect, _) in TABLE.items()}


def test_a_small_model_gets_the_settings_it_has_in_process():
    llamacpp, ollama = eight_kinds()[:2]
    for kind in (llamacpp, ollama):
        go(asked(kind))
        assert [(body["temperature"], body["max_tokens"]) for body in kind.chats] == [(0.0, 1024)] * 2
    assert all("json_schema" in body and "tools" not in body for body in llamacpp.chats)
    assert all(body["response_format"]["type"] == "json_schema" for body in ollama.chats)


def test_the_same_choice_is_made_by_address_by_name_and_in_process(tmp_path: Path):
    """The 0.5B model of the real run (`test_real_server.py`): its requests are the same, byte for byte, whether the
    server is named or only its address, and its profile makes the choice that is made for the same file in process."""
    kind = eight_kinds()[0]

    async def main() -> None:
        async with Loopback(kind) as loopback:
            by_address = resolve_model(f"{loopback.url}/v1")
            named = resolve_model("llamacpp:model.gguf", base_url=f"{loopback.url}/v1")
            for model in (by_address, named):
                assert (await Agent(model, [add]).run(QUESTION)).answer == "The sum is 5."
            chats = [request.body for request in kind.received if request.path.endswith("/chat/completions")]
            assert chats[:2] == chats[2:]
            file = tmp_path / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
            file.write_bytes(b"GGUF")
            inside = LocalModel(str(file)).profile
            for field in ("json_schema", "grammar", "tiny", "small", "tool_call", "constrained"):
                assert getattr(by_address.profile, field) == getattr(inside, field), field
            assert choose_dialect("auto", inside).name == choose_dialect("auto", by_address.profile).name == "brief"

    go(main())


def test_a_server_that_cannot_be_used_says_why_and_what_to_do():
    closed = Kind("needs a key", [], status=401)
    _, result, _ = go(asked(closed, "{url}/v1#m"))
    assert "no key was sent to http://127.0.0.1" in str(result.error)
    assert not closed.received[0].headers.get("authorization")
    for locked in (Kind("needs a key", [], list_status=401), Kind("may not", [], list_status=403)):
        _, result, _ = go(asked(locked))
        assert f"HTTP {locked.list_status}: invalid api key (no key was sent to" in str(result.error)
        assert "set OPENAI_BASE_URL=http://127.0.0.1" in str(result.error)
        assert len(locked.received) == 2, "no other attempt helps"
    _, result, _ = go(asked(Kind("no list", [])))
    assert "no model was found at http://127.0.0.1" in str(result.error)
    assert "#MODEL" in str(result.error)
    result = go(Agent(resolve_model("http://127.0.0.1:9/v1"), [add], retry={"attempts": 1}, on_error="result").run("q"))
    assert "is the server running" in str(result.error)


@pytest.mark.parametrize("reason", ["tools are not implemented here", "Not Implemented"])
def test_tools_that_are_not_implemented_are_not_asked_for_again(reason: str):
    kind = Kind("never", [{"id": "m"}], refusal=(501, reason))
    _, result, events = go(asked(kind))
    assert result.answer == "The sum is 5."
    assert any(isinstance(event, ev.DialectDemoted) for event in events)
    assert sum("tools" in chat for chat in kind.chats) == 1


def test_the_user_knows_better():
    kind = eight_kinds()[0]
    agent, result, _ = go(asked(kind, dialect="native"))
    assert result.metadata["dialect"] == "native"
    assert "tools" in kind.chats[0]
    assert result.answer == "The sum is 5."

    async def able() -> None:
        async with Loopback(eight_kinds()[0]) as loopback:
            model = OpenAIModel("model.gguf", base_url=f"{loopback.url}/v1", abilities={"tool_call": True})
            assert (await Agent(model, [add]).run(QUESTION)).metadata["dialect"] == "native"

    go(able())
    assert agent.model.name == "model.gguf"


def test_a_run_that_was_prepared_before_the_model_was_met_speaks_to_it_rightly():
    kind = eight_kinds()[0]

    async def main() -> None:
        async with Loopback(kind) as loopback:
            agent = Agent(resolve_model(f"{loopback.url}/v1"), [add])
            prepared = agent.prepare(QUESTION)
            assert (await agent.run(QUESTION)).metadata["dialect"] == "brief"
            assert (await agent.launch(prepared)).metadata["dialect"] == "brief"

    go(main())


# ---- names


@pytest.mark.parametrize(
    ("spec", "address", "name"),
    [
        ("http://127.0.0.1:8123/v1", "http://127.0.0.1:8123/v1", ""),
        ("http://127.0.0.1:8123", "http://127.0.0.1:8123/v1", ""),
        ("http://gpu:8123/v1/chat/completions#a/b:c", "http://gpu:8123/v1", "a/b:c"),
        ("https://gateway.example/team/openai/v1#x%20y", "https://gateway.example/team/openai/v1", "x y"),
        ("https://api.deepseek.com#deepseek-chat", "https://api.deepseek.com", "deepseek-chat"),
    ],
)
def test_a_model_by_address(spec: str, address: str, name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-strangers-0123456789")
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-deepseek-0123456789")
    model: Any = resolve_model(spec)
    assert (model.address, model.name) == (address, name or address)
    assert model._connection.api_key == ("sk-deepseek-0123456789" if "deepseek" in spec else "")


@pytest.mark.parametrize("spec", ["http://", "http://[", "http://host:port/v1", "https://api.openai.com/v1"])
def test_what_is_no_such_name_is_refused_with_the_reason(spec: str):
    with pytest.raises(UnknownModelError, match=r"address|host|#MODEL"):
        resolve_model(spec)


def test_a_server_on_this_machine_by_its_name_alone(monkeypatch: pytest.MonkeyPatch):
    async def main() -> None:
        async with Loopback(eight_kinds()[1]) as loopback:
            monkeypatch.setenv("OLLAMA_HOST", loopback.url)
            result = await Agent(resolve_model("ollama"), [add]).run(QUESTION)
            assert result.success
            named: Any = resolve_model("ollama:llama3.2:latest")
            await named.meet()
            assert (named.profile.parameters, named.profile.window) == (pytest.approx(3.213, abs=0.001), 8192)

    go(main())


def test_an_address_is_a_model_wherever_code_names_one():
    async def main() -> None:
        kind = eight_kinds()[6]
        async with Loopback(kind) as loopback:
            url = f"{loopback.url}/v1"
            registry = ModelRegistry()
            registry.register("mine", url, roles="general")
            assert registry.default.profile.tool_call
            broken = ScriptedModel([RequestRefusedError("gone", status=410)])
            for agent in (Agent(url, [add]), Agent(broken, [add], fallbacks=[url]), Agent(registry.get("mine"), [add])):
                assert (await agent.run(QUESTION)).answer == "The sum is 5."
            assert (await react_loop(url, QUESTION, [add])).value == "The sum is 5."

    go(main())
