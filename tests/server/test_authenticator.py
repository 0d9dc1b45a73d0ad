"""Who may use the server, and from where."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit import call
from server.serving import ANN, BOB, TOKENS, Client, relaxed, serving, talker
from treadle import Agent, ScriptedModel


@pytest.fixture(scope="module")
def guarded() -> Iterator[Client]:
    with serving(talker(), tokens=TOKENS) as client:
        yield client


def test_without_a_token_nothing_but_health_and_the_page():
    with serving(talker(), tokens=TOKENS) as client:
        for path in ("/api/runs", "/api/agents", "/api/conversations", "/metrics", "/v1/models", "/api/runs/x/events"):
            refused = client.ask("GET", path)
            assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer"), path
        assert client.ask("POST", "/api/runs", {"question": "?"}).status == 401
        assert client.get("/health")["status"] == "ok"
        assert client.ask("GET", "/").status == 200
        assert client.get("/api/session") == {"user": "", "needs_token": True, "id_prefix": ""}
        assert client.get("/openapi.json")["components"]["securitySchemes"]


@pytest.mark.parametrize(
    "header", ["Bearer wrong", "Bearer", "Basic YTpi", f"Bearer {ANN}x", f"bearer  {ANN[:-1]}", ANN, "Bearer \u00e9"]
)
def test_bad_tokens(header: str, guarded: Client):
    assert guarded.ask("GET", "/api/runs", authorization=header).status == 401


def test_guessing_tokens_gets_slow():
    with serving(talker(), tokens=TOKENS, settings=relaxed(logins_per_second=0.001)) as client:
        answers = [client.ask("GET", "/api/runs", authorization=f"Bearer guess-{n}") for n in range(12)]
        assert [answer.status for answer in answers] == [401] * 10 + [429] * 2
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert client.as_user(ANN).get("/api/runs")["runs"] == [], "a right token is not slowed down"


def test_a_childs_run_belongs_to_its_parents_user():
    helper = Agent(ScriptedModel(["child"]), tools=None, name="helper")
    boss = Agent(
        ScriptedModel([call("helper", user_prompt="a", reasoning="b", context="c"), "ok"]), tools=[helper.as_tool()]
    )
    with serving(boss, tokens=TOKENS) as client:
        ann, bob = client.as_user(ANN), client.as_user(BOB)
        run = ann.start()
        child = ann.wait(run)["children"][0]["run_id"]
        assert ann.get(f"/api/runs/{child}")["answer"] == "child"
        assert bob.ask("GET", f"/api/runs/{child}").status == 404


def test_the_page_logs_in_with_a_cookie_no_script_can_read():
    with serving(talker(), tokens=TOKENS) as client:
        assert client.ask("POST", "/api/session", {"token": "wrong"}).status == 401
        welcome = client.ask("POST", "/api/session", {"token": ANN})
        cookie = welcome.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert ANN not in cookie
        value = cookie.partition(";")[0]
        assert client.get("/api/session", cookie=value)["user"] == "ann"
        assert client.get("/api/runs", cookie=value)["runs"] == []
        assert client.ask("GET", "/api/runs", cookie=value[:-1] + "0").status == 401
        assert "Max-Age=0" in client.ask("DELETE", "/api/session").headers["set-cookie"]


def test_pages_of_other_sites_may_not_act():
    with serving(talker()) as client:
        for origin in ("https://evil.example", "null", "http://localhost:1"):
            assert client.ask("POST", "/api/runs", {"question": "?"}, origin=origin).status == 403
        own = client.ask("POST", "/api/runs", {"question": "?"}, origin=client.address)
        assert own.status == 201
        plain = client.ask("POST", "/api/runs", raw=b'{"question": "?"}', content_type="text/plain")
        assert plain.status == 415, "a form of another site can send this without asking"
        read = client.ask("GET", "/api/runs", origin="https://evil.example")
        assert "access-control-allow-origin" not in read.headers


def test_another_host_name_is_refused():
    with serving(talker()) as client:
        assert client.ask("GET", "/api/runs", host="evil.example").status == 403
        assert client.ask("GET", "/api/runs", host="localhost:1").status == 200
    with serving(talker(), settings=relaxed(allowed_hosts=("agents.example",))) as client:
        assert client.ask("GET", "/api/runs", host="agents.example:80").status == 200


def test_cors_for_those_who_are_let_in():
    with serving(talker(), settings=relaxed(cors_origins=("https://chat.example",))) as client:
        preflight = client.ask(
            "OPTIONS", "/api/runs", origin="https://chat.example", access_control_request_method="POST"
        )
        assert preflight.headers["access-control-allow-origin"] == "https://chat.example"
        assert client.ask("POST", "/api/runs", {"question": "?"}, origin="https://chat.example").status == 201
        assert client.ask("POST", "/api/runs", {"question": "?"}, origin="https://evil.example").status == 403
