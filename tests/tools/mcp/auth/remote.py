"""A remote MCP server with its own authorization server, on loopback. What it answers can be changed by a test."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

PROTOCOL = "2025-11-25"
TOOL = {"name": "look", "description": "Look.", "inputSchema": {"type": "object", "properties": {}}}


class Remote:
    """`asked` counts the requests by path; `valid` are the tokens that the MCP server takes."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: Counter[str] = Counter()
        self.valid: dict[str, str] = {}
        self.refresh_tokens: set[str] = set()
        self.codes: dict[str, tuple[str, str]] = {}
        self.resource: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.redirect: dict[str, str] = {}
        self.needed = ""
        self.metadata_size = 0
        self.forms: list[dict[str, str]] = []

    @property
    def server(self) -> str:
        return f"{self.url}/mcp"

    def token(self, scope: str) -> dict[str, Any]:
        access, refresh = f"access-{secrets.token_hex(12)}", f"refresh-{secrets.token_hex(12)}"
        self.valid[access] = scope
        self.refresh_tokens.add(refresh)
        return {
            "access_token": access,
            "refresh_token": refresh,
            "token_type": "Bearer",
            "expires_in": 3600,
            "scope": scope,
        }

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked[request.path] += 1
        match request.path:
            case "/mcp":
                return await self.speak(request)
            case "/.well-known/oauth-protected-resource/mcp":
                return web.json_response(
                    {"resource": self.server, "authorization_servers": [self.url], **self.resource}
                )
            case "/.well-known/oauth-authorization-server":
                return web.json_response(self.describe())
            case "/register":
                return web.json_response({**await request.json(), "client_id": "client-1"}, status=201)
            case "/authorize":
                return self.authorize(request)
            case "/token":
                return self.exchange(dict(await request.post()))  # type: ignore[arg-type]
            case _:
                return web.Response(status=404)

    def describe(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "registration_endpoint": f"{self.url}/register",
            "code_challenge_methods_supported": ["S256"],
            "service_documentation": f"https://example.com/{'x' * self.metadata_size}",
            **self.metadata,
        }

    def authorize(self, request: web.Request) -> web.Response:
        query = request.query
        self.codes["code-1"] = (query["code_challenge"], query.get("scope", ""))
        params = {"code": "code-1", "state": query["state"], **self.redirect}
        given = "&".join(f"{name}={value}" for name, value in params.items() if value)
        return web.Response(status=302, headers={"location": f"{query['redirect_uri']}?{given}"})

    def exchange(self, form: dict[str, str]) -> web.Response:
        self.forms.append(form)
        if form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self.refresh_tokens:
                return web.json_response({"error": "invalid_grant"}, status=400)
            self.refresh_tokens.discard(form["refresh_token"])
            return web.json_response(self.token("read"))
        challenge, scope = self.codes.pop(form["code"])
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == challenge
        return web.json_response(self.token(scope or "read"))

    async def speak(self, request: web.Request) -> web.Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self.valid:
            challenge = f'Bearer resource_metadata="{self.url}/.well-known/oauth-protected-resource/mcp"'
            return web.Response(status=401, headers={"www-authenticate": challenge})
        if request.method != "POST":
            return web.Response(status=405)
        message = await request.json()
        if self.needed and message["method"] == "tools/call" and self.needed not in self.valid[token].split():
            challenge = f'Bearer error="insufficient_scope", scope="{self.needed}"'
            return web.Response(status=403, headers={"www-authenticate": challenge})
        if "id" not in message:
            return web.Response(status=202)
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": PROTOCOL,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "remote", "version": "1"},
            },
            "tools/list": {"tools": [TOOL]},
            "tools/call": {"content": [{"type": "text", "text": "seen"}]},
        }
        if message["method"] not in results:
            error = {"code": -32601, "message": "unknown method"}
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "error": error})
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]})


@contextmanager
def remote_server() -> Iterator[Remote]:
    """In a thread of its own, so that a test may run the program in its own."""
    remote, ready, loop = Remote(), threading.Event(), asyncio.new_event_loop()

    async def serve() -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", remote.answer)
        runner = web.AppRunner(app, handle_signals=False)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        remote.url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"  # type: ignore[union-attr]
        stop = asyncio.Event()
        stops.append(stop)
        ready.set()
        await stop.wait()
        await runner.cleanup()

    stops: list[asyncio.Event] = []
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield remote
    finally:
        loop.call_soon_threadsafe(stops[0].set)
        thread.join(60)
        loop.close()
