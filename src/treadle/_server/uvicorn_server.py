"""The server on uvicorn: where it listens, how long it waits for slow clients, and how it stops."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec
import uvicorn

from treadle._agent.agent import Agent
from treadle._journal.base import Journal
from treadle._safety.logs import get_logger
from treadle._server.app import create_app
from treadle._server.authenticator import is_loopback
from treadle._server.listening import listen
from treadle._server.live.hub import Hub
from treadle._server.settings import ServerSettings
from treadle._types.errors import ConfigError

logger = get_logger("treadle.server")

PORT = 8460
_TIMEOUT_BODY = b'{"error":{"type":"timeout","message":"the request headers did not arrive in time","code":408}}'
_TIMEOUT_RESPONSE = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: " + str(len(_TIMEOUT_BODY)).encode() + b"\r\n\r\n" + _TIMEOUT_BODY
)


def serve(
    agents: Mapping[str, Agent[Any, Any]] | Agent[Any, Any],
    journal: Journal | str | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    tokens: Mapping[str, str] | None = None,
    settings: ServerSettings | None = None,
    log_level: str = "warning",
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until interrupted. Any address but the loopback needs tokens."""
    server = make_server(
        agents, journal, host=host, port=port, tokens=tokens, settings=settings, log_level=log_level, on_ready=on_ready
    )
    with suppress(KeyboardInterrupt):  # raised once more after the server has ended as it should
        server.run()


def make_server(
    agents: Mapping[str, Agent[Any, Any]] | Agent[Any, Any],
    journal: Journal | str | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    tokens: Mapping[str, str] | None = None,
    settings: ServerSettings | None = None,
    log_level: str = "warning",
    on_ready: Callable[[str], None] | None = None,
) -> Server:
    """Make a server that has not started: call `run()`, or `await serve()`."""
    settings = settings or ServerSettings()
    if not is_loopback(host) and not tokens:
        raise ConfigError(f"listening on {host} lets other machines in: give tokens, or listen on 127.0.0.1")
    if is_loopback(host) and host not in settings.allowed_hosts:
        settings = msgspec.structs.replace(settings, allowed_hosts=(*settings.allowed_hosts, host))
    app = create_app(agents, journal, tokens=tokens, settings=settings)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level=log_level,
        access_log=log_level in ("debug", "info"),
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        timeout_keep_alive=5,
        timeout_graceful_shutdown=int(settings.grace) + 5,
        h11_max_incomplete_event_size=65536,
    )
    for name in ("uvicorn.access", "uvicorn.error"):  # after uvicorn's own set-up of them
        get_logger(name)
    return Server(config, app.state.hub, settings, on_ready)


class Server(uvicorn.Server):
    """uvicorn that also closes connections of clients that never finish a request or never read a response."""

    def __init__(
        self, config: uvicorn.Config, hub: Hub, settings: ServerSettings, on_ready: Callable[[str], None] | None
    ) -> None:
        super().__init__(config)
        self.hub = hub
        self._settings = settings
        self._on_ready = on_ready
        self._idle_since: dict[Any, tuple[Any, float]] = {}
        """With the last request of the connection: a new request means that it was not idle."""
        self._closing_since: dict[Any, float] = {}

    @property
    def address(self) -> str:
        host, port, *_ = self.servers[0].sockets[0].getsockname()
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def serve(self, sockets: Any = None) -> None:
        """Serve. A journal or port that cannot be opened is an error of ours, before anything has started."""
        await self.hub.journal.list(limit=1)
        own = listen(self.config.host, self.config.port) if sockets is None else []
        try:
            await super().serve(sockets or own)
        finally:
            for each in own:
                each.close()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started and self._on_ready is not None:
            self._on_ready(self.address)

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:
            self._sweep(time.monotonic())
        return await super().on_tick(counter)

    def _sweep(self, now: float) -> None:
        idle: dict[Any, tuple[Any, float]] = {}
        closing: dict[Any, float] = {}
        for connection in list(self.server_state.connections):
            transport: Any = getattr(connection, "transport", None)
            cycle: Any = getattr(connection, "cycle", None)
            if transport is None:
                continue
            if transport.is_closing():
                closing[connection] = since = self._closing_since.get(connection, now)
                if now - since > self._settings.header_timeout:
                    transport.abort()  # the client does not read the end of the response
            elif cycle is None or cycle.response_complete:
                before, since = self._idle_since.get(connection, (cycle, now))
                idle[connection] = (cycle, since if before is cycle else now)
                if before is cycle and now - since > self._settings.header_timeout:
                    if cycle is None:
                        transport.write(_TIMEOUT_RESPONSE)
                    transport.close()
        self._idle_since, self._closing_since = idle, closing

    async def shutdown(self, sockets: Any = None) -> None:
        await self.hub.close()
        await super().shutdown(sockets)
