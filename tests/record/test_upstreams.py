"""Where requests go, and how a program is led to the proxy."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle._record.upstreams import VARIABLES, Routes, child_environment, routes_from, upstream_at
from treadle._types.errors import ConfigError


def test_the_variables_of_the_sdks_lead_to_the_proxy_and_on_to_where_they_pointed():
    given = {"OPENAI_BASE_URL": "http://127.0.0.1:7000/custom/v1", "OTHER": "kept", "NO_PROXY": "intranet"}
    routes = routes_from(given, {"mine": "http://127.0.0.1:7001/x"})
    child = child_environment(given, "http://127.0.0.1:8900", routes)
    assert child["OPENAI_BASE_URL"] == "http://127.0.0.1:8900/openai/custom/v1"
    assert child["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8900/anthropic"
    assert child["GOOGLE_GEMINI_BASE_URL"] == "http://127.0.0.1:8900/gemini"
    assert "AZURE_OPENAI_ENDPOINT" not in child  # it has no usual address
    assert "OLLAMA_HOST" not in child  # a server that the program starts would listen there
    assert child["OTHER"] == "kept"
    assert child["NO_PROXY"] == "intranet,127.0.0.1,localhost"

    def goes_to(path: str) -> str:
        found = routes.find(path)
        return f"{found[0].host}:{found[0].port}{found[1]}"

    assert goes_to("/openai/custom/v1/chat/completions") == "127.0.0.1:7000/custom/v1/chat/completions"
    assert goes_to("/anthropic/v1/messages?beta=true") == "api.anthropic.com:443/v1/messages?beta=true"
    assert goes_to("/gemini/v1beta/models/g:generateContent") == (
        "generativelanguage.googleapis.com:443/v1beta/models/g:generateContent"
    )
    assert goes_to("/mine/y") == "127.0.0.1:7001/x/y"
    assert routes.find("/azure/x") is None
    assert routes.find("/") is None


@pytest.mark.parametrize(
    ("given", "goes_to"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:7000", "http://127.0.0.1:7000"),
        (":7000", "http://127.0.0.1:7000"),
        ("[::]", "http://127.0.0.1:11434"),
        ("::1", "http://[::1]:11434"),
        ("[::1]:7000", "http://[::1]:7000"),
        ("box/under", "http://box:11434/under"),
        ("http://0.0.0.0:7000/", "http://127.0.0.1:7000"),
        ("http://box", "http://box"),
        ("https://ollama.com", "https://ollama.com"),
    ],
)
def test_the_forms_of_the_variable_of_ollama(given: str, goes_to: str):
    assert routes_from({"OLLAMA_HOST": given}, {}).by_name["ollama"].address == goes_to


def test_every_variable_has_a_reader():
    assert all(one.read_by for one in VARIABLES)
    assert len({one.variable for one in VARIABLES}) == len(VARIABLES)


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/chat/completions", "/v1/chat/completions"),
        ("/v1/chat/completions", "/v1/chat/completions"),
        ("/v1x", "/v1/v1x"),
        ("/", "/v1/"),
    ],
)
def test_a_version_in_front_of_the_path_is_not_doubled(path: str, target: str):
    routes = Routes({"": upstream_at("https://api.example/v1/")})
    found = routes.find(path)
    assert found[1] == target


@pytest.mark.parametrize("url", ["ftp://x", "http://", "http://user:key@host", "http://h?key=1", "http://h:x"])
def test_addresses_that_are_refused(url: str):
    with pytest.raises(ConfigError):
        upstream_at(url)


def test_the_host_as_the_server_expects_it():
    assert upstream_at("https://api.example/v1").host_header == b"api.example"
    assert upstream_at("http://[::1]:99").host_header == b"[::1]:99"
    assert upstream_at("localhost:11434").address == "http://localhost:11434"


def test_the_guide_lists_every_variable():
    guide = (Path(__file__).parents[2] / "docs" / "howto" / "record.md").read_text("utf-8")
    assert [one.variable for one in VARIABLES if f"`{one.variable}`" not in guide] == []
