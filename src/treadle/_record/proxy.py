"""The recording proxy: passes HTTP/1.1 on, byte for byte, and hands a copy of each exchange to a recorder.

Each connection of a client has one connection to the server of its own, so that a connection that ends, on either side,
ends on the other side too, as it would without the proxy. There is no time-out here: those of the client and of the
server apply. Of a request only its target and its `Host` are changed, of a response nothing.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import parse_qsl, unquote

from treadle._record.exchange import HttpExchange, Memory
from treadle._record.framing import (
    MAX_HEAD,
    PIECE,
    Body,
    FramingError,
    Head,
    read_head,
    request_body,
    response_body,
    status_of,
)
from treadle._record.upstreams import Routes, Upstream, gateway_for, tls_context
from treadle._safety.logs import get_logger
from treadle._safety.secrets import header_secrets

logger = get_logger()
_LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")


class Proxy:
    """Listens on this machine alone, and passes requests on to the given servers and nowhere else."""

    def __init__(
        self, routes: Routes, on_exchange: Callable[[HttpExchange], None], *, memory: Memory | None = None
    ) -> None:
        self.routes = routes
        self.memory = memory or Memory()
        self.address = ""
        self.connections = 0
        self._on_exchange = on_exchange
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._tls: ssl.SSLContext | None = None

    async def start(self, port: int = 0) -> str:
        """Begin to listen on 127.0.0.1; returns the address."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._accept, "127.0.0.1", port, backlog=1024)
        self.address = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self.address

    async def close(self) -> None:
        """Stop listening and end what is under way."""
        if self._server is not None:
            self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def hand_over(self, exchange: HttpExchange) -> None:
        """Hand an exchange to the recorder; its failure does not affect the recorded program."""
        try:
            self._on_exchange(exchange)
        except Exception:
            logger.exception("an exchange was passed on and not recorded")
            exchange.forget()

    async def connect(self, upstream: Upstream) -> _Side:
        if upstream.tls and self._tls is None:
            self._tls = tls_context()
        tls = self._tls if upstream.tls else None
        side, loop = _Side(), asyncio.get_running_loop()
        gate = gateway_for(upstream)
        if gate is None:
            name = upstream.host if tls else None
            await loop.create_connection(
                lambda: side.protocol, upstream.host, upstream.port, ssl=tls, server_hostname=name
            )
            return side
        await loop.create_connection(lambda: side.protocol, gate.host, gate.port)
        await side.write(gate.request(upstream))
        answer = await read_head(side.reader)
        if answer is None or status_of(answer[0]) != 200:
            side.abort()
            raise ConnectionRefusedError(f"the network's proxy {gate.host}:{gate.port} does not connect to it")
        if tls is not None and side.protocol.writer is not None:
            await side.protocol.writer.start_tls(tls, server_hostname=upstream.host)
            side.protocol.wire = side.protocol.writer.transport  # pyright: ignore[reportAttributeAccessIssue]
        return side

    def _accept(self) -> asyncio.StreamReaderProtocol:
        side = _Side()

        def begin() -> None:
            task = asyncio.get_running_loop().create_task(_Connection(self, side).serve())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            side.task = task

        side.protocol.on_made = begin
        return side.protocol


class _Protocol(asyncio.StreamReaderProtocol):
    """Tells at once when the other side has gone, also while nobody reads."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        super().__init__(reader)
        self.on_made: Callable[[], None] | None = None
        self.on_gone: Callable[[], None] | None = None
        self.wire: asyncio.Transport | None = None
        self.writer: asyncio.StreamWriter | None = None
        self._source = reader

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert isinstance(transport, asyncio.Transport)
        self.wire = transport
        self.writer = asyncio.StreamWriter(transport, self, self._source, asyncio.get_running_loop())
        if self.on_made is not None:
            self.on_made()

    def eof_received(self) -> bool | None:
        keep_open = super().eof_received()
        self._gone()
        return keep_open

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._gone()

    def _gone(self) -> None:
        gone, self.on_gone = self.on_gone, None
        if gone is not None:
            gone()


class _Side:
    """One of the two connections."""

    def __init__(self) -> None:
        self.reader = asyncio.StreamReader(limit=MAX_HEAD)
        self.protocol = _Protocol(self.reader)
        self.task: asyncio.Task[None] | None = None

    async def write(self, data: bytes) -> None:
        """Returns when the other side keeps up: nothing piles up here."""
        writer = self.protocol.writer
        if writer is None or writer.is_closing():
            raise ConnectionResetError("the connection is closed")
        writer.write(data)
        await writer.drain()

    def close(self) -> None:
        if self.protocol.wire is not None:
            self.protocol.wire.close()

    def abort(self) -> None:
        if self.protocol.wire is not None:
            self.protocol.wire.abort()

    @property
    def ended(self) -> bool:
        return self.protocol.wire is None or self.protocol.wire.is_closing() or self.reader.at_eof()


class _Connection:
    """A client's connection and the one to the server that belongs to it."""

    def __init__(self, proxy: Proxy, client: _Side) -> None:
        self._proxy = proxy
        self._client = client
        self._server: _Side | None = None
        self._serves: Upstream | None = None
        self._gone = False
        self._ends = False
        """Neither connection can be used again after this exchange."""

    async def serve(self) -> None:
        self._proxy.connections += 1
        try:
            while await self._exchange():
                pass
        except (OSError, FramingError):
            pass
        except asyncio.CancelledError:
            if not self._gone:
                raise
        finally:
            self._proxy.connections -= 1
            self._client.close()
            if self._server is not None:
                self._server.abort()

    async def _exchange(self) -> bool:
        """Pass on one request and its response; return whether the connections can be used for another one."""
        try:
            read = await read_head(self._client.reader)
        except FramingError as error:
            await self._refuse(400, str(error))
            return False
        if read is None:
            return False
        head = read[0]
        route = self._target(head)
        if isinstance(route, tuple):
            upstream, method, target = route
        else:
            await self._refuse(*route.args)
            return False
        exchange = _new_exchange(self._proxy.memory, upstream, method, target, head)
        self._client.protocol.on_gone = self._client_gone
        try:
            return await self._pass(head, upstream, method, target, exchange)
        except asyncio.CancelledError:
            exchange.end("cancelled")
            raise
        except (OSError, FramingError, asyncio.IncompleteReadError):
            exchange.end("cut" if self._client.reader.exception() is None and not self._client.ended else "cancelled")
            self._client.abort()  # whoever waits for the rest learns at once that it does not come
            return False
        finally:
            self._client.protocol.on_gone = None
            exchange.end("cut")
            self._proxy.hand_over(exchange)

    async def _pass(self, head: Head, upstream: Upstream, method: bytes, target: str, exchange: HttpExchange) -> bool:
        try:
            sending = request_body(head, exchange.keep_request)
        except FramingError as error:
            exchange.end("refused")
            await self._refuse(400, str(error))
            return False
        try:
            server = await self._connected(upstream)
        except (OSError, FramingError) as error:
            exchange.end("unreachable")
            await self._refuse(502, f"{upstream.address} cannot be reached: {getattr(error, 'strerror', '') or error}")
            return False
        server.protocol.on_gone = None
        await server.write(_rewritten(head, method, target, upstream))
        upload = asyncio.create_task(self._upload(sending, server))
        try:
            return await self._answer(head, method, server, exchange, upload)
        finally:
            upload.cancel()
            await asyncio.gather(upload, return_exceptions=True)

    async def _answer(
        self, asked: Head, method: bytes, server: _Side, exchange: HttpExchange, upload: asyncio.Task[None]
    ) -> bool:
        while True:  # interim answers (100 Continue) come before the one that counts
            read = await read_head(server.reader)
            if read is None:
                raise ConnectionResetError("the server closed the connection without an answer")
            head, raw = read
            status = status_of(head)
            if status == 101:
                exchange.status = status
                await self._client.write(raw)
                await self._tunnel(server)
                exchange.end("complete")
                return False
            if status >= 200:
                break
            await self._client.write(raw)
        exchange.status, exchange.headers = status, head.headers()
        body = response_body(head, method, exchange.keep_response)
        await self._client.write(raw)
        while not body.done:
            data = await server.reader.read(PIECE)
            if not data:
                if body.until_close:
                    break
                raise ConnectionResetError("the server's answer ended early")
            used = body.feed(data)
            self._ends = self._ends or used < len(data)
            await self._client.write(data[:used])
        exchange.end("complete")
        if self._ends or asked.closes or head.closes or body.until_close or not upload.done():
            return False
        server.protocol.on_gone = self._client.close  # an idle connection ends on both sides
        return not server.ended

    async def _upload(self, body: Body, server: _Side) -> None:
        while not body.done:
            data = await self._client.reader.read(body.wanted)
            if not data:
                return
            used = body.feed(data)
            self._ends = self._ends or used < len(data)  # a request that did not wait for its turn has to be sent again
            await server.write(data[:used])

    async def _tunnel(self, server: _Side) -> None:
        """After `101 Switching Protocols`, bytes in both directions until one side ends."""

        async def copy(source: _Side, sink: _Side) -> None:
            while data := await source.reader.read(PIECE):
                await sink.write(data)

        self._client.protocol.on_gone = None
        tasks = [asyncio.create_task(copy(self._client, server)), asyncio.create_task(copy(server, self._client))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _connected(self, upstream: Upstream) -> _Side:
        if self._server is not None and (self._serves != upstream or self._server.ended):
            self._server.protocol.on_gone = None
            self._server.abort()
            self._server = None
        if self._server is None:
            self._server, self._serves = await self._proxy.connect(upstream), upstream
        return self._server

    def _target(self, head: Head) -> tuple[Upstream, bytes, str] | _Refusal:
        """Where a request goes. Only paths are taken: this is no proxy for any address a client names. A page in a
        browser cannot reach it either: its requests name another host, or say where they come from."""
        method, _, rest = head.first.partition(b" ")
        target, _, version = rest.rpartition(b" ")
        if not version.startswith(b"HTTP/1.") or not target.startswith(b"/") or not target.isascii():
            return _Refusal(400, "only HTTP/1.1 requests with a path are passed on")
        host = head.value(b"host").lower()
        if (host if host.endswith("]") else host.rpartition(":")[0] or host) not in _LOCAL_NAMES:
            return _Refusal(403, f"this proxy is reached as {self._proxy.address}")
        # An image or a form of another site has no origin; its browser says all the same where it comes from.
        elsewhere = head.value(b"sec-fetch-site") not in ("", "none", "same-origin")
        if elsewhere or (head.values(b"sec-fetch-mode") and head.value(b"origin")):
            return _Refusal(403, "requests of web pages are not passed on")
        path = target.decode("ascii")
        route = self._proxy.routes.find(path)
        if route is None or "/../" in f"{unquote(path.partition('?')[0])}/":
            names = ", ".join(f"/{name}" for name in self._proxy.routes.by_name)
            return _Refusal(404, f"no server has this path; expected one of: {names}")
        return route[0], method, route[1]

    async def _refuse(self, status: int, message: str) -> None:
        body = json.dumps({"error": {"type": "treadle_record", "message": message}}).encode()
        head = f"HTTP/1.1 {status} Refused\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        with suppress(OSError):
            await self._client.write(head.encode() + b"connection: close\r\n\r\n" + body)

    def _client_gone(self) -> None:
        """The client does not wait any longer: the server is told by the end of its connection."""
        self._gone = True
        if self._client.task is not None:
            self._client.task.cancel()


class _Refusal(Exception):
    """Status and message."""


def _rewritten(head: Head, method: bytes, target: str, upstream: Upstream) -> bytes:
    lines = tuple(
        line.partition(b":")[0] + b": " + upstream.host_header if line[:5].lower() == b"host:" else line
        for line in head.lines
    )
    first = b" ".join((method, target.encode("ascii"), head.first[-8:]))
    return Head(first, lines).encode()


def _new_exchange(memory: Memory, upstream: Upstream, method: bytes, target: str, head: Head) -> HttpExchange:
    path, _, query = target.partition("?")
    secrets = [*header_secrets(head.headers()), *header_secrets(dict(parse_qsl(query)))]
    exchange = HttpExchange(
        memory, upstream=upstream.address, method=method.decode("latin-1"), path=path, secrets=tuple(secrets)
    )
    exchange.request_encoding = head.value(b"content-encoding")
    return exchange
