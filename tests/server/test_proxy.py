"""Behind a reverse proxy: a prefix, TLS in front, and whose forwarded headers are believed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from server.serving import Client, relaxed, serving, talker
from treadle._server.proxy import BehindProxy, checked_prefix
from treadle._types.errors import ConfigError

TOKEN = "a-token-of-some-length"


def seen(headers: dict[str, str], *, peer: str = "10.0.0.1", path: str = "/api", **options: Any) -> dict[str, Any]:
    """The request as the application behind the middleware gets it."""
    scopes: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scopes.append(scope)

    pairs = [(name.lower().encode(), value.encode()) for name, value in {"host": "inner", **headers}.items()]
    scope = {"type": "http", "client": (peer, 1), "scheme": "http", "path": path, "headers": pairs}
    asyncio.run(BehindProxy(app, **options)(scope, None, None))  # pyright: ignore[reportArgumentType]
    return scopes[0]


FORWARDED = {
    "X-Forwarded-For": "6.6.6.6, 203.0.113.9, 10.0.0.7",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "a.org",
}


def test_a_trusted_proxy_is_believed_and_the_client_is_the_last_address_that_is_none():
    scope = seen(FORWARDED, trusted=["10.0.0.0/8"])
    assert scope["client"][0] == "203.0.113.9", "what a client itself wrote into the header comes before"
    assert scope["scheme"] == "https"
    assert dict(scope["headers"])[b"host"] == b"a.org"


@pytest.mark.parametrize("options", [{}, {"trusted": ["192.0.2.1"]}, {"trusted": ["::1"]}])
def test_nobody_else_is_believed(options: dict[str, Any]):
    scope = seen(FORWARDED, **options)
    assert (scope["client"][0], scope["scheme"]) == ("10.0.0.1", "http")
    assert dict(scope["headers"])[b"host"] == b"inner"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Forwarded-For": ""},
        {"X-Forwarded-For": " , ,"},
        {"X-Forwarded-Proto": "javascript"},
        {"X-Forwarded-For": "not an address"},
        {"X-Forwarded-For": "x" * 5000},
    ],
)
def test_headers_that_make_no_sense_do_no_harm(headers: dict[str, str]):
    scope = seen(headers, trusted=["10.0.0.1"])
    assert scope["scheme"] == "http"
    assert len(scope["client"][0]) <= 100


@pytest.mark.parametrize("path", ["/agents/api", "/api"])
def test_the_prefix_is_left_on_the_path_or_taken_off_by_the_proxy(path: str):
    scope = seen({}, path=path, prefix="agents/")
    assert (scope["root_path"], scope["path"]) == ("/agents", "/agents/api")


@pytest.mark.parametrize("prefix", ["/v1", "/api", "/a2a", "/agents"])
def test_a_prefix_may_be_a_path_of_the_server_itself(prefix: str):
    with serving({"demo": talker()}, settings=relaxed(path_prefix=prefix)) as client:
        for path in ("/v1/models", "/api/agents", "/a2a/demo/.well-known/agent-card.json", "/health", "/openapi.json"):
            for asked in (path, prefix + path):
                assert client.ask("GET", asked).status == 200, asked
        card = client.ask("GET", f"{prefix}/a2a/demo/.well-known/agent-card.json").json
        assert card["supportedInterfaces"][0]["url"].endswith(f"{prefix}/a2a/demo")
        assert client.ask("GET", f"{prefix}/").status == client.ask("GET", "/").status


def test_what_cannot_be_meant_is_refused_at_the_start():
    assert checked_prefix("/") == checked_prefix("") == ""
    for wrong in ("/a b", "/a?b", "/a//b", "/../a"):
        with pytest.raises(ConfigError, match="path_prefix"):
            checked_prefix(wrong)
    for settings in (relaxed(path_prefix="/a b"), relaxed(trusted_proxies=("proxy",))):
        with pytest.raises(ConfigError), serving(talker(), settings=settings):
            pass


def through(client: Client, method: str, path: str, body: Any = None, **headers: str) -> Any:
    """A request as a proxy with TLS in front passes it on."""
    told = {"x_forwarded_for": "203.0.113.9", "x_forwarded_proto": "https", "x_forwarded_host": "chat.example.org"}
    return client.ask(method, path, body, **told, **headers)


def test_a_server_behind_a_proxy():
    settings = relaxed(path_prefix="/agents", trusted_proxies=("127.0.0.1",))
    with serving({"demo": talker()}, tokens={TOKEN: "ann"}, settings=settings) as client:
        page = through(client, "GET", "/agents/")
        assert page.status == 200
        assert "html" in page.headers["content-type"] or b"page has not been built" in page.data
        logged_in = through(client, "POST", "/agents/api/session", {"token": TOKEN}, origin="https://chat.example.org")
        assert logged_in.status == 200, logged_in.data
        assert "Secure" in logged_in.headers["set-cookie"], "the browser speaks TLS, though the proxy does not"
        refused = through(client, "POST", "/agents/api/session", {"token": TOKEN}, origin="https://elsewhere.example")
        assert refused.status == 403
        client.token = TOKEN
        for path in ("/agents/api/agents", "/api/agents"):
            assert through(client, "GET", path).status == 200
        card = through(client, "GET", "/agents/a2a/demo/.well-known/agent-card.json").json
        assert card["supportedInterfaces"][0]["url"] == "https://chat.example.org/agents/a2a/demo"
        chat = {"model": "demo", "messages": [{"role": "user", "content": "?"}]}
        assert through(client, "POST", "/agents/v1/chat/completions", chat).status == 200
        assert through(client, "GET", "/other/api/agents").status == 404
