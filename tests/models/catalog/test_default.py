"""Which model is chosen when none is named."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from kit import row
from treadle._models.catalog import default
from treadle._models.catalog.default import choose, local_default, model_of, served_models
from treadle._models.catalog.providers import PROVIDERS
from treadle._types.errors import ConfigError


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No keys, no servers."""
    for provider in PROVIDERS.values():
        for name in (provider.key_env, provider.base_env):
            if name:
                monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("TREADLE_MODEL", raising=False)
    monkeypatch.setattr(default, "CONNECT_SECONDS", 60.0)  # a busy machine may be slower than what a user waits for
    monkeypatch.setattr(default, "ANSWER_SECONDS", 60.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        unused = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    monkeypatch.setattr(default, "_address", lambda provider: unused)


@contextmanager
def server(body: bytes, status: int = 200) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/v1/models" else 404)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}/v1"
        finally:
            http.shutdown()
            thread.join()


def test_the_order_of_choice(monkeypatch: pytest.MonkeyPatch):
    assert choose().spec == local_default()
    assert choose().spec in default.LOCAL_DEFAULTS
    with server(json.dumps({"data": [{"id": "nomic-embed-text"}, {"id": "llama3.2"}]}).encode()) as url:
        monkeypatch.setattr(
            default, "_address", lambda provider: url if provider.name == "ollama" else "http://127.0.0.1:9/v1"
        )
        assert choose().spec == "ollama:llama3.2"
        assert choose().reason.startswith("found ollama at 127.0.0.1:")
        monkeypatch.setenv("GEMINI_API_KEY", "g")
        assert choose() == default.Choice("gemini:gemini-2.5-flash", "GEMINI_API_KEY is set")
        monkeypatch.setenv("OPENAI_API_KEY", "o")
        assert choose().spec == "openai:gpt-5-mini"
        assert choose(None, "groq:x").reason == "named in the config file"
        monkeypatch.setenv("TREADLE_MODEL", "mistral:y")
        assert choose(None, "groq:x") == default.Choice("mistral:y", "TREADLE_MODEL is set")
        assert choose("xai:z", "groq:x") == default.Choice("xai:z", "named with --model")
        monkeypatch.setenv("TREADLE_MODEL", " ")
        assert choose(None, "groq:x").spec == "groq:x"


def test_the_reason_is_one_line_without_the_key(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-secret-secret")
    choice = choose()
    model, line = model_of(choice), f"{choice.spec} ({choice.reason})"
    assert model.name == "gpt-5-mini"
    assert line == "openai:gpt-5-mini (OPENAI_API_KEY is set)"


def test_other_servers_are_not_taken_for_model_servers():
    for body, status in [
        (b"<html>", 200),
        (b"{}", 200),
        (b'{"data": [1]}', 200),
        (b'{"data": []}', 200),
        (b'{"data": [{"id": "x"}]}', 500),
        (b"\xff\xfe", 200),
    ]:
        with row(body, status), server(body, status) as url:
            assert served_models(url) == []


def test_our_own_server_is_not_a_model():
    with server(b'{"data": [{"id": "agent", "owned_by": "treadle"}, {"id": "real", "owned_by": null}]}') as url:
        assert served_models(url) == ["real"]


def test_a_server_that_does_not_respond_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(default, "ANSWER_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert served_models(f"http://127.0.0.1:{silent.getsockname()[1]}/v1") == []
    assert served_models("https://127.0.0.1/v1") == []


def test_every_default_is_in_the_table_of_providers():
    for provider, name in default.BY_KEY.items():
        assert PROVIDERS[provider].key_env
        assert name
    assert all(name in PROVIDERS for name in default.SERVERS)


def test_without_the_local_runtime_the_error_names_all_alternatives(monkeypatch: pytest.MonkeyPatch):
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "xllamacpp" else real(name, *a))
    with pytest.raises(ConfigError, match=r'OPENAI_API_KEY.*Ollama.*pip install "treadle\[local\]"'):
        model_of(choose())


def test_an_empty_name_is_not_as_if_none_was_given():
    for flag in ["", " "]:
        with row(flag), pytest.raises(ConfigError, match="--model is empty"):
            choose(flag)
