"""Two servers behind a real nginx with `deploy/nginx.conf`: TLS, a path, streams, and one of them gone."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.serving import PacedModel, relaxed, serving
from treadle import Agent
from waiting import GUARD_SECONDS, eventually

pytestmark = [pytest.mark.net, pytest.mark.slow]

CONF = Path(__file__).parents[2] / "deploy" / "nginx.conf"
TOKEN = "a-token-of-some-length"
ASKED = {"model": "a", "messages": [{"role": "user", "content": "?"}]}


class Front:
    """What a client sees of nginx."""

    def __init__(self, port: int) -> None:
        self.port = port

    def open(self) -> http.client.HTTPSConnection:
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=GUARD_SECONDS, context=trusting)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
        connection = self.open()
        sent = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json", "host": "chat.example.org"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body).encode(), {**sent, **headers})
            response = connection.getresponse()
            return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
        finally:
            connection.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def behind(tmp_path: Path) -> Iterator[tuple[Front, list[Any], PacedModel]]:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if not program:
        pytest.skip("nginx is not installed (Debian: apt-get install nginx-light)")
    model = PacedModel(["First words and last words."], chunk=12, repeat_last=True)
    settings = relaxed(path_prefix="/agents", trusted_proxies=("127.0.0.1",))
    options: dict[str, Any] = {"tokens": {TOKEN: "ann"}, "settings": settings}
    key, pem = tmp_path / "key", tmp_path / "pem"
    made = [
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "1",
        "-subj",
        "/CN=chat.example.org",
    ]
    subprocess.run(["openssl", "req", *made, "-keyout", key, "-out", pem], check=True, capture_output=True)
    journal, agents = str(tmp_path / "j.db"), {"a": Agent(model, None)}
    with serving(agents, journal, **options) as one, serving(agents, journal, **options) as two:
        port = free_port()
        ports = iter(server.address.rpartition(":")[2] for server in (one, two))
        text = re.sub(r"127\.0\.0\.1:846\d", lambda _: f"127.0.0.1:{next(ports)}", CONF.read_text())
        text = text.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
        text = re.sub(r"(ssl_certificate_key\s+)\S+;", rf"\g<1>{key};", text)
        text = re.sub(r"(ssl_certificate\s+)\S+;", rf"\g<1>{pem};", text)
        temporary = "".join(
            f"{kind}_temp_path {tmp_path}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        head = f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log;\nevents {{}}\n"
        whole = f"{head}http {{\naccess_log off;\n{temporary}{text}}}\n"
        (tmp_path / "nginx.conf").write_text(whole)
        nginx = subprocess.Popen([program, "-c", tmp_path / "nginx.conf", "-p", tmp_path, "-e", tmp_path / "error.log"])
        front = Front(port)
        try:
            eventually(lambda: nginx.poll() is not None or _answers(front), "nginx answers")
            assert nginx.poll() is None, (tmp_path / "error.log").read_text()
            yield front, [one, two], model
        finally:
            nginx.terminate()
            nginx.wait(GUARD_SECONDS)


def _answers(front: Front) -> bool:
    try:
        return front.ask("GET", "/agents/health")[0] == 200
    except OSError:
        return False


def test_a_path_tls_and_the_client_are_known(behind: Any):
    front, _, _ = behind
    status, _, body = front.ask("GET", "/agents/v1/models")
    assert (status, [one["id"] for one in json.loads(body)["data"]]) == (200, ["a"])
    card = json.loads(front.ask("GET", "/agents/a2a/a/.well-known/agent-card.json", authorization="")[2])
    assert card["supportedInterfaces"][0]["url"] == "https://chat.example.org/agents/a2a/a"
    _, headers, _ = front.ask("POST", "/agents/api/session", {"token": TOKEN}, origin="https://chat.example.org")
    assert "secure" in headers["set-cookie"].lower()
    assert front.ask("POST", "/agents/api/session", {"token": TOKEN}, origin="https://elsewhere.org")[0] == 403
    assert front.ask("GET", "/agents/v1/models", authorization="Bearer wrong")[0] == 401
    assert front.ask("GET", "/v1/models")[0] in (403, 404), "nothing is led to beside the path"
    status, headers, body = front.ask("GET", "/agents/")
    assert (status, b"<html" in body) == (200, True)
    with pytest.raises((OSError, AssertionError)):  # nginx answers 413, or closes while the body is sent
        assert front.ask("POST", "/agents/v1/chat/completions", {"x": "y" * 21_000_000})[0] != 413


def test_words_come_as_they_are_written(behind: Any):
    front, _, model = behind
    gate = model.hold()
    connection = front.open()
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json", "host": "chat.example.org"}
    connection.request("POST", "/agents/v1/chat/completions", json.dumps({**ASKED, "stream": True}).encode(), headers)
    response = connection.getresponse()
    before = b""
    while b"First words" not in before:
        line = response.readline()
        assert line, before
        before += line
    gate.open()
    assert b"[DONE]" in response.read()
    connection.close()


def test_one_of_the_servers_is_gone(behind: Any):
    front, servers, _ = behind
    made = json.loads(front.ask("POST", "/agents/v1/responses", {"model": "a", "input": "?"})[2])
    servers[0].server.should_exit = True
    eventually(lambda: not servers[0].server.started or not servers[0].server.servers[0].is_serving(), "it stops")
    for _ in range(6):
        status, _, body = front.ask("GET", f"/agents/v1/responses/{made['id']}")
        assert (status, json.loads(body)["status"]) == (200, "completed")
        assert front.ask("POST", "/agents/v1/chat/completions", ASKED)[0] == 200
