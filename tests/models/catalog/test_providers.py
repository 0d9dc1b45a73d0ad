"""Providers: names, keys, headers, addresses."""

from __future__ import annotations

from typing import Any

import pytest

from kit import row
from models.openai.chat_kit import model
from treadle._models.catalog.providers import PROVIDERS, connect, provider_named
from treadle._models.catalog.registry import _LAZY_IMPORTS, resolve_model
from treadle._models.openai.chat import OpenAIModel
from treadle._types.errors import (
    ConfigError,
    MissingKeyError,
)


def test_keys(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "from-environment")

    def header(**options: Any) -> str | None:
        return OpenAIModel("m", **options)._connection.headers.get("authorization")

    assert header() == "Bearer from-environment"
    assert header(api_key="given") == "Bearer given"
    assert header(base_url="http://localhost:1/v1") is None
    assert header(base_url="http://localhost:1/v1", api_key="given") == "Bearer given"
    with monkeypatch.context() as stated:  # both variables of one provider belong together
        stated.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
        assert header() == "Bearer from-environment"
        assert header(base_url="http://localhost:1/v1") is None
        stated.delenv("OPENAI_API_KEY")
        assert header() is None
    assert header(api_key="") is None
    assert header(provider="ollama") is None
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY"):
        header()
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    with pytest.raises(MissingKeyError, match="GROQ_API_KEY"):
        header(provider="groq")


def test_a_key_for_a_server_on_this_machine_goes_there_when_both_were_set_for_each_other(
    monkeypatch: pytest.MonkeyPatch,
):
    def key(**options: Any) -> str:
        return OpenAIModel("m", **options)._connection.api_key

    for variable in ("OPENAI_API_KEY", "HF_TOKEN", "OLLAMA_API_KEY"):
        monkeypatch.setenv(variable, "key-of-an-account")
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert key() == "key-of-an-account"
    assert key(base_url="http://127.0.0.1:2/v1") == "", "the variables are about another address"
    assert resolve_model("http://127.0.0.1:1/v1#m").connection.api_key == ""  # pyright: ignore[reportAttributeAccessIssue]
    assert key(provider="ollama") == key(provider="tgi") == key(provider="litellm") == ""
    for name, variable in (("litellm", "LITELLM_API_KEY"), ("vllm", "VLLM_API_KEY"), ("llamacpp", "LLAMA_API_KEY")):
        monkeypatch.setenv(variable, f"key-of-{name}")
        assert key(provider=name) == f"key-of-{name}"
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:3")
    assert key(provider="ollama") == "key-of-an-account"
    monkeypatch.delenv("OPENAI_API_KEY")
    assert key() == "", "a server on this machine may do without"


def test_headers_are_added_and_masked():
    adapter = model(
        headers={"X-Team": "blue", "X-Team-Token": "team-token-1", "X-Trace": "a-very-long-value-of-a-header"}
    )
    assert adapter._connection.headers["x-team-token"] == "team-token-1"
    assert adapter._origin.redact("blue team-token-1 a-very-long-value-of-a-header") == "blue *** ***"


def test_a_bad_address_names_the_fix():
    for url in ["nonsense", "ftp://host/v1", "http://", "localhost:8000"]:
        with row(url), pytest.raises(ConfigError, match="base_url"):
            model(base_url=url)


def test_credentials_in_an_address_are_not_shown():
    adapter = model(base_url="http://user:password123@127.0.0.1:9/v1?token=abcdefgh")
    assert adapter._origin.address == "http://127.0.0.1:9/v1"


def test_addresses_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OLLAMA_HOST", "0.0.0.0")
    assert OpenAIModel("m", provider="ollama")._connection.base_url == "http://127.0.0.1:11434/v1"
    monkeypatch.setenv("OLLAMA_HOST", "https://box.example:8443")
    assert OpenAIModel("m", provider="ollama")._connection.base_url == "https://box.example:8443/v1"
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    with pytest.raises(ConfigError, match="AZURE_OPENAI_ENDPOINT"):
        OpenAIModel("m", provider="azure", api_key="k")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://me.openai.azure.com/")
    azure = OpenAIModel("m", provider="azure", api_key="kkk")
    assert azure._connection.base_url == "https://me.openai.azure.com/openai/v1"
    assert azure._connection.headers["api-key"] == "kkk"


def test_every_provider_has_an_adapter_and_an_address():
    for provider in PROVIDERS.values():
        assert provider_named(provider.name) is provider
        assert provider.protocol in _LAZY_IMPORTS
        assert provider.base_url.startswith("http") or provider.base_env or provider.protocol == "local"
        assert provider.key_env or not provider.needs_key


def test_an_error_names_the_server_it_is_from():
    openai = provider_named("openai")
    elsewhere = connect(openai, "http://box:8000/v1", "", None).origin
    assert elsewhere.message("HTTP 500") == "openai at http://box:8000: HTTP 500"
    assert elsewhere.message(f"cannot connect to {elsewhere.address}") == "openai: cannot connect to http://box:8000/v1"
    assert connect(openai, None, "key", None).origin.message("HTTP 500") == "openai: HTTP 500"
