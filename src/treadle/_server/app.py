"""The ASGI application: the API's operations, the page, and the handling of runs at the server's start and stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treadle._agent.agent import Agent
from treadle._journal import Journal, open_journal
from treadle._safety.logs import get_logger
from treadle._safety.secrets import known_secrets
from treadle._server.api import agents as agent_operations
from treadle._server.api import catalog, conversations, files, grounds, inspection, memory, meta, runs, search, why
from treadle._server.api.openapi import document
from treadle._server.api.operations import Context, Operation, perform
from treadle._server.authenticator import Authenticator
from treadle._server.errors import ApiError, error_response
from treadle._server.live.hub import Hub
from treadle._server.live.push import Push
from treadle._server.live.sse import EventStream
from treadle._server.metrics import Metrics
from treadle._server.page import Page
from treadle._server.protocols import (
    a2a,
    ag_ui,
    anthropic_messages,
    openai_chat,
    openai_responses,
    vercel_ai,
)
from treadle._server.protocols.a2a_tasks import task_update
from treadle._server.proxy import BehindProxy, checked_prefix, networks
from treadle._server.settings import ServerSettings
from treadle._types.errors import ConfigError

logger = get_logger("treadle.server")

_MODULES = (
    runs,
    catalog,
    why,
    inspection,
    files,
    grounds,
    conversations,
    search,
    memory,
    agent_operations,
    meta,
    openai_chat,
    openai_responses,
    anthropic_messages,
    ag_ui,
    vercel_ai,
    a2a,
)
OPERATIONS: tuple[Operation, ...] = tuple(operation for module in _MODULES for operation in module.routes.operations)


def create_app(
    agents: Mapping[str, Agent[Any, Any]] | Agent[Any, Any],
    journal: Journal | str | None = None,
    *,
    tokens: Mapping[str, str] | None = None,
    settings: ServerSettings | None = None,
) -> Starlette:
    """Make an ASGI application that serves `agents` under their names; a single one under its own.

    `tokens` maps bearer tokens to users. Without any there is one user, and only requests that address the loopback (or
    one of `allowed_hosts`) are answered.
    """
    if isinstance(agents, Agent):
        agents = {agents.name: agents}
    if not agents:
        raise ConfigError("a server needs at least one agent: create_app({'name': agent})")
    settings = settings or ServerSettings()
    metrics = Metrics()
    store = open_journal(journal)
    hub = Hub(agents, store, settings, metrics)
    networks(settings.trusted_proxies)
    checked_prefix(settings.path_prefix)
    authenticator = Authenticator(tokens, settings)
    known_secrets.keep(authenticator, "server-token", tokens or ())
    push = Push(hub, settings.push_hosts, task_update)
    context = Context(hub, authenticator, settings, metrics, push)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        if settings.on_restart == "resume" and (resumed := await hub.resume_unfinished()):
            logger.info("resumed %d unfinished runs", len(resumed))
        await push.catch_up()
        watching = asyncio.ensure_future(hub.take_over()) if settings.takeover is not None else None
        yield
        if watching is not None:
            watching.cancel()
        await hub.close()
        await push.close()
        if store is not journal:
            await store.aclose()

    routes = _routes(context, needs_token=bool(tokens))
    app = Starlette(
        routes=routes,
        middleware=_middleware(settings, roots=frozenset(route.path.split("/")[1] for route in routes)),
        exception_handlers={HTTPException: _http_error, 404: _http_error, 405: _http_error},
        lifespan=lifespan,
    )
    app.state.hub = hub
    return app


def _routes(context: Context, *, needs_token: bool) -> list[Route]:
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in OPERATIONS:
        by_path.setdefault(operation.path, {})[operation.method] = operation
    routes = [
        Route(path, _endpoint(operations, context), methods=list(operations)) for path, operations in by_path.items()
    ]

    async def openapi(request: Request) -> Response:
        return Response(_described(needs_token), media_type="application/json")

    return [*routes, Route("/openapi.json", openapi), *Page().routes()]


@cache
def _described(needs_token: bool) -> bytes:
    """Describe all operations: half of the time of a server's start, so it waits for the first who asks."""
    return msgspec.json.encode(document(OPERATIONS, needs_token=needs_token))


def _endpoint(operations: Mapping[str, Operation], context: Context) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        head = request.method == "HEAD"
        response = await perform(operations["GET" if head else request.method], request, context)
        return await response.head() if head and isinstance(response, EventStream) else response

    return endpoint


def _middleware(settings: ServerSettings, roots: frozenset[str]) -> Sequence[Middleware]:
    middleware = [Middleware(SafeHeaders)]
    if settings.trusted_proxies or settings.path_prefix:
        middleware.insert(0, Middleware(BehindProxy, settings.trusted_proxies, settings.path_prefix, roots))
    if settings.cors_origins:
        middleware.insert(
            0,
            Middleware(
                CORSMiddleware,
                allow_origins=settings.cors_origins,
                allow_methods=["GET", "POST", "DELETE"],
                allow_headers=["authorization", "content-type", "last-event-id", "x-api-key", "idempotency-key"],
            ),
        )
    return middleware


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "error")
    response = error_response(
        ApiError(error.status_code, kind, f"{error.detail}: /openapi.json lists the paths and methods")
    )
    response.headers.update(error.headers or {})
    return response


class SafeHeaders:
    """Adds headers to every response that forbid content sniffing, caching, framing and referrers."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers: list[tuple[bytes, bytes]] = list(message.get("headers", ()))
                names = {name for name, _ in headers}
                headers += [pair for pair in _SAFE if pair[0] not in names]
                message = {**message, "headers": headers}
            await send(message)

        await self.app(scope, receive, guarded if scope["type"] == "http" else send)


_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
