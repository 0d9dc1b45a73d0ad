"""Which addresses an authorization may lead to."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kit import go, row

pytest.importorskip("mcp")
import httpx2

from tools.builtin.loopback import serving
from treadle._tools.mcp.auth.guarded_http import GuardedHttp, RefusedAddressError

REMOTE = "https://mcp.invalid/mcp"
LOCAL = "http://127.0.0.1:1/mcp"
INSIDE = "https://10.1.1.1/mcp"
REAL_LOOKUP = socket.getaddrinfo


def test_an_address_that_is_not_called():
    for server, address in (
        (REMOTE, "http://example.com/token"),
        (REMOTE, "http://127.0.0.1/token"),
        (REMOTE, "https://127.0.0.1/token"),
        (REMOTE, "https://localhost/token"),
        (REMOTE, "https://10.1.2.3/token"),
        (REMOTE, "https://169.254.169.254/latest"),
        (REMOTE, "https://[::1]/token"),
        (REMOTE, "https://[fd00::1]/token"),
        (REMOTE, "https://0.0.0.0/token"),
        (REMOTE, "https://user@example.com/token"),
        (LOCAL, "https://192.168.0.1/token"),
        (INSIDE, "https://169.254.169.254/latest"),
        (INSIDE, "https://127.0.0.1/token"),
        (INSIDE, "http://10.1.1.1/token"),
        (REMOTE, "ftp://example.com/token"),
    ):
        with row(server, address):
            with pytest.raises((RefusedAddressError, httpx2.HTTPError, httpx2.InvalidURL)) as caught:
                go(GuardedHttp(server).send(httpx2.Request("GET", address)))
            assert isinstance(caught.value, RefusedAddressError), caught.value


async def test_a_server_on_this_machine_may_lead_to_this_machine_and_its_host_is_told():
    async with serving({"/token": {"ok": 1}, "/big": "x" * 300_000}) as site:
        http = GuardedHttp(f"http://localhost:{site.port}/mcp")
        response = await http.send(httpx2.Request("GET", f"http://localhost:{site.port}/token"))
        assert response.json() == {"ok": 1}
        assert site.requests[0].headers["host"] == f"localhost:{site.port}"
        with pytest.raises(RefusedAddressError, match="larger than"):
            await http.send(httpx2.Request("GET", f"{site.url}/big"))


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What a proxy was asked for; it refuses everything."""
    asked: list[str] = []
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _proxy(asked)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("HTTPS_PROXY", f"127.0.0.1:{server.server_address[1]}")
        for name in ("https_proxy", "NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        yield asked
        server.shutdown()


def _proxy(asked: list[str]) -> type[socketserver.StreamRequestHandler]:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            asked.append(self.rfile.readline().decode().split(" ")[1])
            while self.rfile.readline().strip():
                pass
            self.wfile.write(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")

    return Handler


def test_behind_a_proxy_what_is_known_to_be_private_is_refused(proxy: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    for server, host in (
        (REMOTE, "169.254.169.254"),
        (REMOTE, "10.0.0.1"),
        (REMOTE, "10.0.0.1."),
        (REMOTE, "2852039166"),
        (REMOTE, "0xa9fea9fe"),
        (REMOTE, "012.1"),
        (REMOTE, "[fd00::1]"),
        (REMOTE, "[::ffff:10.0.0.1]"),
        (REMOTE, "127.0.0.1"),
        (REMOTE, "localhost"),
        (REMOTE, "a.localhost"),
        (REMOTE, "metadata.google.internal"),
        (REMOTE, "Printer.Local."),
        (REMOTE, "intranet"),
        (REMOTE, "looks-public.example"),
        (INSIDE, "169.254.169.254"),
        ("https://mcp.corp.internal/mcp", "metadata.google.internal"),
    ):
        with row(server, host), pytest.raises(RefusedAddressError, match="not a public address"):
            go(GuardedHttp(server).send(httpx2.Request("GET", f"https://{host}/token")))
    assert proxy == []


def test_behind_a_proxy_a_name_that_is_unknown_here_is_left_to_the_proxy(
    proxy: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    for server, host in (
        (REMOTE, "login.invalid"),
        (REMOTE, "1.1.1.1"),
        (REMOTE, "mcp.invalid"),
        (INSIDE, "10.2.2.2"),
        ("https://mcp.corp.internal/mcp", "sso.corp.internal"),
    ):
        with row(server, host), pytest.raises(httpx2.ProxyError):
            go(GuardedHttp(server).send(httpx2.Request("GET", f"https://{host}/token")))
        assert proxy.pop() == f"{host}:443"


def looked_up(host: Any, port: Any, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0) -> Any:
    """The names of a closed network: addresses, and one name, which leads inside."""
    host = "192.168.7.7" if host == "looks-public.example" else "127.0.0.1" if host == "localhost" else host
    return REAL_LOOKUP(host, port, family, type, proto, flags | socket.AI_NUMERICHOST)
