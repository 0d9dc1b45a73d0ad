"""The application: headers, paths, configuration, secrets."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from kit import call, echo
from server.serving import TOKENS, Gate, serving, talker
from treadle import Agent, ScriptedModel, ToolContext, tool
from treadle._server import create_app, make_server
from treadle._types.errors import ConfigError
from waiting import eventually


def test_listening_to_others_needs_tokens():
    with pytest.raises(ConfigError, match="give tokens"):
        make_server({"demo": talker()}, "memory:", host="0.0.0.0")
    with pytest.raises(ConfigError, match="at least 16"):
        create_app({"demo": talker()}, "memory:", tokens={"short": "ann"})
    with pytest.raises(ConfigError, match="at least one agent"):
        create_app({}, "memory:")
    make_server({"demo": talker()}, "memory:", host="0.0.0.0", tokens=TOKENS)


def test_a_single_agent_is_served_under_its_name():
    server = make_server(Agent(ScriptedModel(["Hello."]), name="greeter"), "memory:")
    assert list(server.hub.agents) == ["greeter"]


def test_headers_that_keep_answers_what_they_are():
    with serving(talker()) as client:
        for path in ("/api/runs", "/", "/health", "/nothing", "/openapi.json"):
            headers = client.ask("GET", path).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert "server" not in headers


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


@pytest.mark.parametrize("size", [1, 3, 7])
def test_no_secret_is_shown_in_pieces(size: int):
    """To those who follow the run while the tool writes."""
    secret, gate = "hunter2-hunter2", Gate()

    @tool
    async def leak(context: ToolContext) -> str:
        """Says too much, a little at a time."""
        text = f"it is {secret}\n"
        for start in range(0, len(text), size):
            context.output(text[start : start + size])
        await gate.wait()
        return "done"

    agent = Agent(ScriptedModel([call("leak"), "ok"]), tools=[leak], secrets=[secret])
    with serving(agent) as client:
        run = client.start()
        gate.wait_reached()
        shown = client.events(run, detail="full", until="output")[-1]["data"]["content"]
        assert shown == "it is [redacted:secret]\n"
        gate.open()
        client.wait(run)


def test_no_secrets_in_the_servers_logs(caplog: pytest.LogCaptureFixture):
    token = "token-of-ann-4711-4711"
    with serving(talker(), tokens={token: "ann"}, log_level="info") as client:
        loggers = [logging.getLogger(name) for name in ("uvicorn.access", "uvicorn.error", "treadle.server")]
        for logger in loggers:
            logger.addHandler(caplog.handler)
        client.ask("GET", f"/health?token={token}")
        for logger in loggers:
            logger.error("a request with %s failed", token)
        eventually(lambda: "/health" in caplog.text, "the request is in the log", 20)
        for logger in loggers:
            logger.removeHandler(caplog.handler)
        assert token not in caplog.text
        assert "[redacted:server-token]" in caplog.text


def test_echoed_markup_is_data():
    text = "</script><script>alert(1)</script>"
    model = ScriptedModel([call("echo", text=text), text])
    with serving(Agent(model, tools=[echo])) as client:
        run = client.ran(text)
        answer = client.ask("GET", f"/api/runs/{run}")
        assert answer.headers["content-type"] == "application/json"
        assert answer.json["question"] == text
