"""Who may do what, and what happens to clients that misbehave."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kit import call, echo
from treadle import Agent, ScriptedModel, ToolContext, tool
from treadle._server import ServerSettings, create_app, make_server
from treadle._server.errors import ApiError
from treadle._server.limits import ConcurrencyLimit, RateLimit
from treadle._server.page import Page
from treadle._types.errors import ConfigError

from .live import Client, Gate, PacedModel, parse, serving

ANN, BOB = "token-of-ann-0123456789", "token-of-bob-0123456789"
TOKENS = {ANN: "ann", BOB: "bob"}


def talker() -> Agent:
    return Agent(ScriptedModel(["hi"], repeat_last=True), tools=None)


def roomy(**more: Any) -> ServerSettings:
    return ServerSettings(**{"requests_per_second": 10_000, "request_burst": 10_000, "grace": 0.1, **more})


@pytest.fixture(scope="module")
def guarded() -> Iterator[Client]:
    with serving(talker(), tokens=TOKENS) as client:
        yield client


@pytest.fixture(scope="module")
def unguarded() -> Iterator[Client]:
    with serving(talker()) as client:
        yield client


# ---- who


def test_without_a_token_nothing_but_health_and_the_page():
    with serving(talker(), tokens=TOKENS) as client:
        for path in ("/api/runs", "/api/agents", "/api/conversations", "/metrics", "/v1/models", "/api/runs/x/events"):
            refused = client.ask("GET", path)
            assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer"), path
        assert client.ask("POST", "/api/runs", {"question": "?"}).status == 401
        assert client.get("/health")["status"] == "ok"
        assert client.ask("GET", "/").status == 200
        assert client.get("/api/session") == {"user": "", "needs_token": True}
        assert client.get("/openapi.json")["components"]["securitySchemes"]


@pytest.mark.parametrize(
    "header", ["Bearer wrong", "Bearer", "Basic YTpi", f"Bearer {ANN}x", f"bearer  {ANN[:-1]}", ANN, "Bearer \u00e9"]
)
def test_bad_tokens(header: str, guarded: Client):
    assert guarded.ask("GET", "/api/runs", authorization=header).status == 401


def test_guessing_tokens_gets_slow():
    with serving(talker(), tokens=TOKENS) as client:
        answers = [client.ask("GET", "/api/runs", authorization=f"Bearer guess-{n}") for n in range(12)]
        assert [a.status for a in answers].count(429) >= 1
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert client.as_user(ANN).get("/api/runs") == {"runs": []}, "a right token is not slowed down"


def test_one_user_cannot_see_anothers_runs():
    with serving(talker(), tokens=TOKENS) as client:
        ann, bob = client.as_user(ANN), client.as_user(BOB)
        run = ann.start("my secret question")
        ann.wait(run)
        for method, path, body in [
            ("GET", f"/api/runs/{run}", None),
            ("GET", f"/api/runs/{run}/events", None),
            ("GET", f"/api/runs/{run}/records", None),
            ("GET", f"/api/runs/{run}/requests/1", None),
            ("GET", f"/api/runs/{run}/artifacts/x", None),
            ("GET", f"/api/conversations/{run}", None),
            ("GET", f"/api/runs?parent={run}", None),
            ("POST", f"/api/runs/{run}/messages", {"text": "x"}),
            ("DELETE", f"/api/runs/{run}/messages/x", None),
            ("POST", f"/api/runs/{run}/cancel", None),
            ("POST", f"/api/runs/{run}/resume", None),
            ("POST", f"/api/runs/{run}/approvals", {"call_id": "x", "allow": True}),
            ("POST", f"/api/runs/{run}/fork", {"at": 0}),
            ("DELETE", f"/api/runs/{run}", None),
            ("DELETE", f"/api/conversations/{run}", None),
        ]:
            refused = bob.ask(method, path, body)
            assert refused.status == 404, path
            assert b"secret" not in refused.data
        assert bob.get("/api/runs") == {"runs": []}
        assert bob.get("/api/conversations") == {"conversations": []}
        assert [info["user"] for info in ann.get("/api/runs")["runs"]] == ["ann"]
        taken = bob.ask("POST", "/api/runs", {"question": "?", "run_id": run})
        assert taken.status == 409
        mixed = bob.start("?", conversation=run)
        assert "secret" not in json.dumps(bob.get(f"/api/runs/{mixed}/records"))
        assert len(ann.get(f"/api/conversations/{run}")["runs"]) == 1


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
        assert client.get("/api/session", cookie=value) == {"user": "ann", "needs_token": False}
        assert client.get("/api/runs", cookie=value) == {"runs": []}
        assert client.ask("GET", "/api/runs", cookie=value[:-1] + "0").status == 401
        assert "Max-Age=0" in client.ask("DELETE", "/api/session").headers["set-cookie"]


def test_listening_to_others_needs_tokens():
    with pytest.raises(ConfigError, match="give tokens"):
        make_server({"demo": talker()}, "memory:", host="0.0.0.0")
    with pytest.raises(ConfigError, match="at least 16"):
        create_app({"demo": talker()}, "memory:", tokens={"short": "ann"})
    with pytest.raises(ConfigError, match="at least one agent"):
        create_app({}, "memory:")
    make_server({"demo": talker()}, "memory:", host="0.0.0.0", tokens=TOKENS)


# ---- from where


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


def test_a_borrowed_name_is_refused():
    with serving(talker()) as client:
        assert client.ask("GET", "/api/runs", host="evil.example").status == 403
        assert client.ask("GET", "/api/runs", host="localhost:1").status == 200
    with serving(talker(), settings=roomy(allowed_hosts=("agents.example",))) as client:
        assert client.ask("GET", "/api/runs", host="agents.example:80").status == 200


def test_cors_for_those_who_are_let_in():
    with serving(talker(), settings=roomy(cors_origins=("https://chat.example",))) as client:
        preflight = client.ask(
            "OPTIONS", "/api/runs", origin="https://chat.example", access_control_request_method="POST"
        )
        assert preflight.headers["access-control-allow-origin"] == "https://chat.example"
        assert client.ask("POST", "/api/runs", {"question": "?"}, origin="https://chat.example").status == 201
        assert client.ask("POST", "/api/runs", {"question": "?"}, origin="https://evil.example").status == 403


def test_headers_that_keep_answers_what_they_are():
    with serving(talker()) as client:
        for path in ("/api/runs", "/", "/health", "/nothing", "/openapi.json"):
            headers = client.ask("GET", path).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert "server" not in headers


# ---- what


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"not json",
        b"\xff\xfe\x00",
        b'{"question": "\xff"}',
        b'{"question": "\\ud800"}',
        b'{"question": 5}',
        b'{"question": ""}',
        b'{"question": null}',
        b"[]",
        b"null",
        b'{"question": "?", "nonsense": 1}',
        b'{"question": "?", "history": [{"role": "tool", "content": "x"}]}',
        b'{"question": "?", "settings": {"temperature": "hot"}}',
        b'{"question": "?", "settings": {"temperature": 1e999}}',
        b'{"question": "?", "run_id": "../../etc"}',
        b'{"question": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"question": "?"} trailing',
    ],
    ids=lambda raw: raw[:40].decode("latin-1"),
)
def test_bodies_that_cannot_be_used(raw: bytes, unguarded: Client):
    refused = unguarded.ask("POST", "/api/runs", raw=raw)
    assert refused.status == 400, refused.data
    assert refused.json["error"]["type"] == "bad_request"
    assert len(refused.error) < 500


def test_nul_and_friends_survive():
    with serving(talker()) as client:
        question = "a\u0000b\u2028c\u202e \U0001f600"
        run = client.start(question)
        assert client.wait(run)["question"] == question


def test_giant_bodies():
    with serving(talker(), settings=roomy(max_body=10_000)) as client:
        declared = client.ask("POST", "/api/runs", raw=b'{"question": "' + b"x" * 20_000 + b'"}')
        assert (declared.status, declared.json["error"]["type"]) == (413, "too_large")
        connection = client.connect()
        connection.putrequest("POST", "/api/runs")
        connection.putheader("content-type", "application/json")
        connection.putheader("transfer-encoding", "chunked")
        connection.endheaders()
        for _ in range(
            10
        ):  # the last one is too much; after it nothing may be on its way, or the answer is lost with the connection
            connection.send(b"400\r\n" + b"x" * 1024 + b"\r\n")
        assert connection.getresponse().status == 413
        connection.close()


def test_methods_and_paths_that_are_not_there():
    with serving(talker()) as client:
        wrong = client.ask("PUT", "/api/runs")
        assert (wrong.status, set(wrong.headers["allow"].replace(" ", "").split(","))) == (405, {"GET", "HEAD", "POST"})
        assert client.ask("GET", "/api/nothing").json["error"]["type"] == "not_found"
        assert client.ask("GET", "/api/runs?limit=0").status == 400
        assert client.ask("GET", "/api/runs?limit=x").status == 400
        assert client.ask("GET", "/api/runs?nonsense=1").status == 400
        assert client.ask("GET", "/assets/../../settings.py").status == 404
        assert client.ask("HEAD", "/api/runs").status == 200
        run = client.start()
        head = client.ask("HEAD", f"/api/runs/{run}/events")
        assert (head.status, head.data, head.headers["content-type"]) == (200, b"", "text/event-stream; charset=utf-8")
        assert client.get("/health")["streams"] == 0


def test_a_page_that_is_not_built_says_how():
    from starlette.requests import Request

    page = Page()
    page._files.clear()  # pyright: ignore[reportPrivateUsage]
    [route] = page.routes()
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "headers": [],
        "server": ("127.0.0.1", 80),
        "query_string": b"",
        "scheme": "http",
    }
    answer = asyncio.run(route.endpoint(Request(scope)))
    assert b"python3 tasks.py page" in answer.body


def test_no_secrets_in_errors(caplog: pytest.LogCaptureFixture):
    class Broken(ScriptedModel):
        @property
        def profile(self) -> Any:
            raise RuntimeError("the key is sk-abc123")

        @profile.setter
        def profile(self, value: Any) -> None:
            self._profile = value

    agent = talker()
    with serving(agent) as client, caplog.at_level(logging.CRITICAL, "treadle.server"):
        served = client.server.hub.agents["demo"]
        served.models = (Broken(["hi"]),)
        failed = client.ask("POST", "/api/runs", {"question": "?"})
        assert failed.status == 500
        assert b"sk-abc123" not in failed.data
        assert "the server's log has the details under" in failed.error


def test_no_secrets_in_what_is_only_shown():
    gate = Gate()

    @tool
    async def leak(context: ToolContext) -> str:
        """Says too much."""
        context.output("the password is hunter2-hunter2\n")
        await gate.wait()
        return "hunter2-hunter2"

    agent = Agent(ScriptedModel([call("leak"), "ok"]), tools=[leak], secrets=["hunter2-hunter2"])
    with serving(agent) as client:
        run = client.start()
        gate.wait_reached()
        shown = client.events(run, detail="full", until="output")[-1]["data"]["content"]
        assert shown == "the password is [redacted:secret]\n"
        gate.open()
        client.wait(run)
        assert "hunter2" not in client.ask("GET", f"/api/runs/{run}/records").data.decode()


# ---- how much


def test_limits_on_requests():
    settings = ServerSettings(requests_per_second=5, request_burst=10, grace=0.1)
    with serving(talker(), tokens=TOKENS, settings=settings) as client:
        ann = client.as_user(ANN)
        statuses = [ann.ask("GET", "/api/agents").status for _ in range(20)]
        assert statuses[:10] == [200] * 10
        assert 429 in statuses
        assert client.as_user(BOB).ask("GET", "/api/agents").status == 200, "one user's haste is not another's"


def test_limits_on_runs_and_streams():
    gate = Gate()
    model = PacedModel(["hi"], repeat_last=True)
    model.gates[-1] = gate
    with serving(Agent(model, tools=None), settings=roomy(max_runs_per_user=2, max_streams_per_user=1)) as client:
        runs = [client.start(), client.start()]
        refused = client.ask("POST", "/api/runs", {"question": "?"})
        assert (refused.status, "2 runs already" in refused.error) == (429, True)
        held = client.connect()
        held.request("GET", f"/api/runs/{runs[0]}/events")
        response = held.getresponse()
        assert response.status == 200
        assert client.ask("GET", f"/api/runs/{runs[0]}/events").status == 429
        response.close()
        held.close()
        deadline = time.monotonic() + 5
        while client.get("/health")["streams"]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        gate.open()
        for run in runs:
            client.wait(run)
        client.wait(client.start())


def test_a_token_bucket_per_key():
    now = 100.0
    rate = RateLimit(2.0, 2, clock=lambda: now)
    assert [rate.spend("a") for _ in range(3)] == [0.0, 0.0, 0.5]
    assert rate.spend("b") == 0.0
    now += 0.25
    assert rate.spend("a") == 0.25
    now += 0.25
    assert rate.spend("a") == 0.0
    now += 1000
    assert [rate.spend("a") for _ in range(3)] == [0.0, 0.0, 0.5], "no more is saved up than the burst"


def test_so_many_at_once():
    limit = ConcurrencyLimit("things", 2, 1)
    with limit.held("a"), limit.held("b"):
        assert limit.in_use == 2
        with pytest.raises(ApiError, match="the server has 2 things already"):
            limit.acquire("c")
        with pytest.raises(ApiError, match="you have 1 things already"):
            limit.acquire("a")
    assert limit.in_use == 0


def _place(client: Client) -> tuple[str, int]:
    host, port = client.address.removeprefix("http://").split(":")
    return host, int(port)


def _raw(client: Client) -> socket.socket:
    return socket.create_connection(_place(client), timeout=10)


def test_slow_heads_are_cut_off():
    with serving(talker(), settings=roomy(header_timeout=0.5)) as client, _raw(client) as slow, _raw(client) as silent:
        slow.sendall(b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n")
        began = time.monotonic()
        answer = b""
        slow.settimeout(0.2)
        while time.monotonic() - began < 8:
            try:
                slow.sendall(b"x-slow: 1\r\n")
                if not (data := slow.recv(4096)):
                    break
                answer += data
            except TimeoutError:
                continue
            except OSError:
                break
        assert b"408 Request Timeout" in answer
        assert b"408" in silent.recv(4096)
        assert client.get("/health")["status"] == "ok"


def test_slow_bodies_are_cut_off():
    with serving(talker(), settings=roomy(body_timeout=0.3)) as client, _raw(client) as slow:
        slow.sendall(
            b'POST /api/runs HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"qu'
        )
        assert b"408 Request Timeout" in slow.recv(4096)


def test_a_client_that_does_not_read_holds_nothing_and_can_come_back():
    gate = Gate()

    @tool
    async def flood(number: int) -> str:
        """Writes much."""
        await gate.wait()
        return f"{number} " + "y" * 11_000

    script = [*(call("flood", number=number) for number in range(300)), "done"]
    agent = Agent(ScriptedModel(script), tools=[flood], max_iterations=400)
    with serving(agent, settings=roomy(send_timeout=0.5, header_timeout=0.5)) as client:
        run = client.start()
        with socket.socket() as sleeper:
            sleeper.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sleeper.settimeout(10)
            sleeper.connect(_place(client))
            sleeper.sendall(f"GET /api/runs/{run}/events HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
            gate.open()
            client.wait(run, timeout=30)
            deadline = time.monotonic() + 10
            while client.get("/health")["streams"]:
                assert time.monotonic() < deadline, "the stream of a client that does not read is still held"
                time.sleep(0.05)
            file = sleeper.makefile("rb")
            seen = list(parse(line for line in file if b":" in line or line == b"\n"))
        assert 0 < len(seen) < 1200
        rest = client.events(run, seen[-1]["id"])
        assert rest[-1]["data"]["answer"] == "done"
        assert int(rest[0]["id"].partition(".")[0]) == int(seen[-1]["id"].partition(".")[0]) + 1


def test_echoed_markup_is_data():
    text = "</script><script>alert(1)</script>"
    model = ScriptedModel([call("echo", text=text), text])
    with serving(Agent(model, tools=[echo])) as client:
        run = client.start(text)
        client.wait(run)
        answer = client.ask("GET", f"/api/runs/{run}")
        assert answer.headers["content-type"] == "application/json"
        assert answer.json["question"] == text
