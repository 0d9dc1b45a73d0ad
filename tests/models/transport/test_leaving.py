"""Everything that leaves this machine: a credential belongs to an origin, and stays there whatever a server answers."""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import treadle
from local.hub import fake
from treadle import Agent, AnthropicModel, GeminiModel, OpenAIModel
from treadle._local.weights.fetch import FetchError, from_hub
from treadle._local.weights.files import Progress
from treadle._local.weights.hub import HubName, resolve
from treadle._models.transport.failures import Origin
from treadle._models.transport.side_requests import send
from treadle._tools.builtin.http.client import GuardedClient
from treadle._tools.mcp.auth.store import CredentialFile, Credentials
from treadle._tools.mcp.client import McpConnection
from treadle._types.errors import ModelError, ToolError, TreadleError
from treadle.testing import TrafficRecorder

KEY = "sk-0123456789abcdef0123456789abcdef"


class Redirecting:
    """A server that redirects every request, and a second origin that writes down what arrives there."""

    def __init__(self) -> None:
        self.arrived: list[tuple[str, str]] = []
        self.status, self.first_hops = 302, 0
        both = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                sent = f"{self.path} {self.headers} {self.rfile.read(length).decode('latin-1')}"
                both.arrived.append((self.headers["host"], sent))
                here = self.headers["host"] == both.home.removeprefix("http://")
                self.send_response(both.status if here else 200)
                if here:
                    both.first_hops -= 1
                    self.send_header("Location", "/again" if both.first_hops >= 0 else f"{both.away}{self.path}")
                    self.send_header("Set-Cookie", f"session={KEY}")
                self.send_header("x-repo-commit", "../../../../etc")
                self.send_header("x-linked-size", "5")
                self.send_header("x-linked-etag", "a" * 64)
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"" if self.command == "HEAD" else b"{}")

            do_POST = do_HEAD = do_GET

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        port = self._server.server_port
        self.home, self.away = f"http://127.0.0.1:{port}", f"http://localhost:{port}"

    def leaks(self) -> list[str]:
        away = self.away.removeprefix("http://")
        return [sent for host, sent in self.arrived if host == away and KEY in sent]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Redirecting]:
    redirecting = Redirecting()
    yield redirecting
    redirecting.close()


async def ask_model(model: Callable[..., Any], address: str) -> None:
    result = await Agent(model("m", base_url=address, api_key=KEY), None, on_error="result").run("?")
    assert not result.success


async def web_tool(server: Redirecting) -> None:
    client = GuardedClient(allow_private=True)
    try:
        await client.get(f"{server.home}/x", headers={"Authorization": KEY, "X-Api-Key": KEY, "Cookie": KEY})
        await client.get(f"{server.home}/y")  # with the cookie that it was sent
        with pytest.raises(ToolError):
            await client.request("POST", f"{server.home}/x", json={"key": KEY})
    finally:
        await client.close()


async def mcp_server(server: Redirecting) -> None:
    headers = {"X-Api-Key": KEY, "Authorization": f"Bearer {KEY}"}
    connection = McpConnection("x", url=f"{server.home}/mcp", headers=headers)
    with pytest.raises(TreadleError):
        await connection.listed()
    await connection.close()


async def mcp_login(server: Redirecting) -> None:
    """With the tokens of a login that have expired: they are renewed, then the server is asked."""
    url = f"{server.home}/mcp"
    tokens = {"access_token": KEY, "token_type": "Bearer", "refresh_token": KEY}
    client = {"client_id": "c", "client_secret": KEY, "redirect_uris": ["http://localhost:9/callback"],
              "token_endpoint_auth_method": "client_secret_post"}  # fmt: skip
    metadata = {"issuer": server.home, "authorization_endpoint": f"{server.home}/authorize",
                "token_endpoint": f"{server.home}/token", "response_types_supported": ["code"]}  # fmt: skip
    CredentialFile(url, "x").write(
        Credentials(server=url, name="x", expires_at=1.0, tokens=tokens, client=client, metadata=metadata)
    )
    connection = McpConnection("x", url=url)
    with pytest.raises(TreadleError):
        await connection.listed()
    await connection.close()


async def side_request(server: Redirecting) -> None:
    await send(Origin("x", server.home), "POST", server.home, headers={"Authorization": KEY}, body=KEY.encode())


async def recorded_traffic(server: Redirecting) -> None:
    """What is recorded for a test is forwarded with its keys; where a redirect leads is for the caller to judge."""
    with TemporaryDirectory() as folder:
        async with TrafficRecorder(Path(folder) / "traffic.jsonl", server.home) as recorder:
            await ask_model(AnthropicModel, recorder.url)


LEAVING: dict[str, Callable[[Redirecting], Any]] = {
    "openai": lambda server: ask_model(OpenAIModel, server.home),
    "anthropic": lambda server: ask_model(AnthropicModel, server.home),
    "gemini": lambda server: ask_model(GeminiModel, server.home),
    "web tools": web_tool,
    "recorded traffic": recorded_traffic,
    "MCP": mcp_server,
    "MCP after a login": mcp_login,
    "credentials, files, batches": side_request,
}


@pytest.mark.parametrize("name", LEAVING)
async def test_no_credential_follows_a_redirect(
    server: Redirecting, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TREADLE_STATE", str(tmp_path))
    for server.status, hops in [(307, 1)] if "MCP" in name else [(302, 0), (302, 1), (307, 0), (307, 1)]:
        server.first_hops = hops
        await LEAVING[name](server)
    assert any(KEY in sent for _, sent in server.arrived), "it was sent to where it belongs"
    assert server.leaks() == []


@pytest.mark.parametrize("hops", [0, 1])
def test_the_token_of_the_hub_stays_there(
    server: Redirecting, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hops: int
):
    monkeypatch.setenv("HF_TOKEN", KEY)
    monkeypatch.setenv("HF_ENDPOINT", server.home)
    asked: list[Callable[[], object]] = [
        lambda: resolve(HubName("a/b")),
        lambda: resolve(HubName("a/b", "c.gguf")),
        lambda: from_hub(fake(), tmp_path / "part", Progress("x", 5, quiet=True)),
    ]
    for ask in asked:
        server.first_hops = hops
        with pytest.raises((ModelError, FetchError)):
            ask()
    assert any(KEY in sent for _, sent in server.arrived)
    assert server.leaks() == []


def test_a_revision_of_the_hub_is_a_name(server: Redirecting, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HF_ENDPOINT", server.away)
    with pytest.raises(ModelError, match="as the revision of a/b"):
        resolve(HubName("a/b", "c.gguf"))


CLIENTS = {
    "_models/transport/http.py": "the session of everything that is sent to a provider or a hub",
    "_tools/builtin/http/client.py": "the same for addresses that a model chooses: each is looked up and checked",
    "_tools/mcp/auth/guarded_http.py": "the flows of the MCP SDK are made of its requests",
    "_models/catalog/default.py": "looks for servers on this machine before aiohttp is imported",
    "_local/runtime/runtime.py": "talks to its own child process",
}
"""Who opens connections by HTTP, and why it is not the first."""


def test_nobody_else_opens_connections():
    names = {"ClientSession", "AsyncClient", "HTTPConnection", "HTTPSConnection", "urlopen", "build_opener"}
    folder = Path(treadle.__file__).parent
    openers: set[str] = set()
    for path in folder.rglob("*.py"):
        text = path.read_text()
        nodes = ast.walk(ast.parse(text)) if any(name in text for name in names) else ()
        calls = [node.func for node in nodes if isinstance(node, ast.Call)]
        if names & {getattr(call, "attr", getattr(call, "id", "")) for call in calls}:
            openers.add(path.relative_to(folder).as_posix())
    assert openers == {*CLIENTS}
