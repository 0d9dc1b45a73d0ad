"""The HTTP client of every provider: one session per event loop, one request per exchange, failures as typed errors."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from msgspec import Struct

from treadle._lazy import lazy_module
from treadle._models.transport.aws_frames import FrameParser
from treadle._models.transport.failures import Origin, bad_reply, connection_lost, error_for_status, insecure
from treadle._models.transport.hosts import is_local
from treadle._models.transport.redirects import MOST, Hop, RedirectRefused
from treadle._models.transport.sse import SSEParser
from treadle._safety.beside import read_beside
from treadle._safety.bounds import Seconds, check_fields
from treadle._types.errors import ModelError

if TYPE_CHECKING:  # importing aiohttp takes 200 ms: only a program that calls a model over HTTP pays for it
    import asyncio

    from aiohttp import ClientResponse, ClientSession, ClientTimeout
    from yarl import URL
else:
    asyncio = lazy_module("asyncio")

MAX_BODY = 64 * 1024 * 1024
MAX_ERROR_BODY = 64 * 1024
ERROR_BODY_WAIT = 10.0
LARGE_REQUEST = 1024 * 1024
"""From this size on aiohttp warns unless the body can be sent in pieces."""
REST_SECONDS = 5.0
"""How long to wait for what follows a complete reply."""
END_SECONDS = 0.25
"""How long to wait for the end of a stream whose last event has been read: a finished connection can be used again."""


class Timeouts(Struct, frozen=True):
    """In seconds. A reply that is not streamed comes all at once: until it begins only `connect` and `total` apply."""

    total: Seconds | None = 600.0
    stall: Seconds | None = 60.0
    """Once the reply has begun, a connection without a byte for so long is taken to be dead."""
    connect: Seconds = 15.0
    first: Seconds | None = 60.0
    """How long a streamed reply may take to begin."""
    progress: Seconds | None = 120.0
    """How long single bytes and signs of life are taken for a reply that goes on."""

    def __post_init__(self) -> None:
        check_fields(self, "timeout of a model: ")


_sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[ClientSession, AsyncGenerator[None]]] = (
    WeakKeyDictionary()
)


_under_way: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()
"""How many exchanges each loop has open."""


async def session() -> ClientSession:
    """The session of the running event loop. It closes by itself when the loop shuts down."""
    loop = asyncio.get_running_loop()
    entry = _sessions.get(loop)
    if entry is None or entry[0].closed:
        await _close_sessions_of_closed_loops()
        entry = await _open()
        _sessions[loop] = entry
    return entry[0]


async def close_if_idle() -> None:
    """Close the running loop's session, unless exchanges are under way."""
    if not _under_way.get(asyncio.get_running_loop()):
        await aclose()


async def aclose() -> None:
    """Close the running loop's session now; the next exchange opens a new one."""
    entry = _sessions.pop(asyncio.get_running_loop(), None)
    if entry is not None:
        await entry[1].aclose()


async def _open() -> tuple[ClientSession, AsyncGenerator[None]]:
    from aiohttp import ClientSession, DummyCookieJar, TCPConnector

    # The limiter decides how many requests run at once; cookies are not wanted.
    client = ClientSession(connector=TCPConnector(limit=0, ttl_dns_cache=60), cookie_jar=DummyCookieJar())
    closer = _close_with_loop(client)
    await anext(closer)
    return client, closer


async def _close_with_loop(client: ClientSession) -> AsyncGenerator[None]:
    # A loop that shuts down closes its open async generators, so this one ends in time to close the session.
    try:
        yield
    finally:
        await client.close()


async def _close_sessions_of_closed_loops() -> None:
    # A loop that was closed without shutting down leaves its session open, and the session keeps the loop alive.
    for loop in [loop for loop in list(_sessions) if loop.is_closed()]:
        await _sessions.pop(loop)[0].close()


class Endpoint:
    """An address with its headers and time-outs, prepared once for all requests to it. `encoded` says that the address
    must be sent as it is written, because a signature covers it."""

    __slots__ = ("_encoded", "_ready", "headers", "origin", "timeouts", "url")

    def __init__(
        self, url: str, headers: Mapping[str, str], origin: Origin, timeouts: Timeouts, *, encoded: bool = False
    ) -> None:
        self.url = url
        self._encoded = encoded
        self.headers = headers
        self.origin = origin
        self.timeouts = timeouts
        self._ready: tuple[URL, dict[str, Any]] | None = None

    def __repr__(self) -> str:
        return f"Endpoint({self.origin!r})"

    def prepared(self) -> tuple[URL, dict[str, Any]]:
        """The address and the arguments of a request, in aiohttp's types."""
        if self._ready is None:
            from aiohttp import ClientTimeout
            from multidict import CIMultiDict
            from yarl import URL

            url = URL(self.url, encoded=self._encoded)
            timeout = ClientTimeout(total=self.timeouts.total, sock_connect=self.timeouts.connect)
            # A redirect would carry the key to another address.
            arguments: dict[str, Any] = {
                "headers": CIMultiDict(self.headers),
                "timeout": timeout,
                "allow_redirects": False,
            }
            self._ready = url, arguments | proxy_for(url)
        return self._ready


def proxy_for(url: URL) -> dict[str, Any]:
    """The arguments for the environment's proxy, looked up once; aiohttp would look it up on every request."""
    from urllib.request import getproxies, proxy_bypass

    from yarl import URL

    address = getproxies().get(url.scheme)
    if not address or is_local(url.host or "") or proxy_bypass(url.host or ""):
        return {}
    proxy = URL(address if "://" in address else f"http://{address}")
    arguments: dict[str, Any] = {"proxy": proxy.with_user(None)}
    if proxy.user:
        credentials = b64encode(f"{proxy.user}:{proxy.password or ''}".encode()).decode()
        arguments["proxy_headers"] = {"Proxy-Authorization": f"Basic {credentials}"}
    return arguments


@asynccontextmanager
async def followed(hop: Hop, timeout: ClientTimeout) -> AsyncGenerator[ClientResponse]:
    """The response to a request without a body, behind the redirects that lead to it."""
    client = await session()
    for _ in range(MOST + 1):
        async with client.request(
            hop.method, hop.url, headers=hop.headers, timeout=timeout, allow_redirects=False, **proxy_for(hop.url)
        ) as response:
            following = hop.after(response.status, response.headers.get("location"))
            if following is None:
                yield response
                return
            hop = following
    raise RedirectRefused(f"{hop.url.host} redirects more than {MOST} times")


async def read_body(response: ClientResponse, origin: Origin, limit: int) -> bytes:
    """Read a whole body; raise `BadReplyError` when it is larger than `limit`."""
    chunks: list[bytes] = []
    size = 0
    while chunk := await response.content.readany():
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            raise bad_reply(origin, f"the reply is larger than {limit} bytes")
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


class Exchange:
    """One request and its response, read in a loop of `batch` inside `async with Exchange(endpoint, body)`. `headers`
    are those of this request alone: a signature, a token.

    A payload is one JSON document: the body, or the data of one event when the server streams. What the server sends
    decides, not what was asked for: some stream always, some never.
    """

    __slots__ = (
        "_body", "_ended", "_endpoint", "_headers", "_parser", "_progress", "_response", "_silence", "_size",
    )  # fmt: skip

    def __init__(
        self, endpoint: Endpoint, body: bytes, headers: Mapping[str, str] | None = None, *, streaming: bool = False
    ) -> None:
        self._endpoint = endpoint
        self._silence = endpoint.timeouts.first if streaming else None
        """How long nothing may come, for now."""
        self._progress = 0.0
        """When the last payload came, or the response began."""
        self._body = body
        self._headers = headers
        self._response: ClientResponse | None = None
        self._parser: SSEParser | FrameParser | None = None
        self._ended = False
        self._size = 0

    async def __aenter__(self) -> Exchange:
        loop = asyncio.get_running_loop()
        _under_way[loop] = _under_way.get(loop, 0) + 1
        try:
            return await self._begin()
        except BaseException:
            _under_way[loop] -= 1
            raise

    async def _begin(self) -> Exchange:
        url, arguments = self._endpoint.prepared()
        if self._headers:
            headers = arguments["headers"].copy()
            headers.update(self._headers)
            arguments = arguments | {"headers": headers}
        body = self._body
        data = body if len(body) < LARGE_REQUEST else io.BytesIO(body)
        client = await session()
        try:
            async with asyncio.timeout(self._silence):
                response = self._response = await client.post(url, data=data, **arguments)
        except Exception as error:
            raise self._failure(error) from None
        self._progress = asyncio.get_running_loop().time()
        self._watch(response, self._silence or self._endpoint.timeouts.stall)
        if not 200 <= response.status < 300:
            raise await self._error_of(response)
        content_type = response.headers.get("content-type", "")
        if "event-stream" in content_type:
            self._parser = SSEParser()
        elif "amazon.eventstream" in content_type:
            self._parser = FrameParser()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _under_way[asyncio.get_running_loop()] -= 1
        response = self._response
        if response is None or response.closed:
            return
        if kind is None and not response.content.at_eof():
            await self._read_to_end(response)
        if response.content.at_eof():
            response.release()
        else:
            response.close()

    async def batch(self) -> list[bytes]:
        """The payloads that arrived next, at least one; an empty list at the end."""
        response = self._response
        if response is None or self._ended:
            return []
        parser = self._parser
        try:
            if parser is None:
                body = await read_body(response, self._endpoint.origin, MAX_BODY)
                return self._payloads_of(body, response)
            while chunk := await response.content.readany():
                self._size += len(chunk)
                if self._size > MAX_BODY:
                    raise bad_reply(self._endpoint.origin, f"the reply is larger than {MAX_BODY} bytes")
                if payloads := parser.feed(chunk):
                    self._got_further(response)
                    return payloads
                self._check_progress()
        except Exception as error:
            raise self._failure(error) from None
        self._ended = True
        return parser.close()

    async def rest(self) -> list[bytes]:
        """`batch` for a complete reply: what still comes (mostly usage) is worth a short wait, not an error."""
        if self._ended:
            return []
        try:
            async with asyncio.timeout(REST_SECONDS):
                return await self.batch()
        except (TimeoutError, ModelError):
            self._ended = True
            return []

    def _payloads_of(self, body: bytes, response: ClientResponse) -> list[bytes]:
        self._ended = True
        body = body.strip()
        if body[:1] in (b"{", b"["):
            return [body]
        if body.startswith((b"data:", b"event:", b":", b"id:", b"retry:")):
            parser = SSEParser()
            return parser.feed(body) + parser.close()
        origin = self._endpoint.origin
        if not body:
            raise connection_lost(origin, "the server sent an empty reply")
        content_type = response.headers.get("content-type", "of no content type")
        raise bad_reply(origin, f"the reply is {content_type}, not JSON", body)

    async def _error_of(self, response: ClientResponse) -> ModelError:
        body = b""
        try:
            async with asyncio.timeout(ERROR_BODY_WAIT):
                while len(body) < MAX_ERROR_BODY and (chunk := await response.content.readany()):
                    body += chunk
        except Exception:
            pass  # the status alone is enough for an error
        finally:
            response.close()
        origin = self._endpoint.origin
        return await read_beside(len(body), error_for_status, origin, response.status, response.headers, body)

    def _watch(self, response: ClientResponse, silence: float | None) -> None:
        """Start the limit for silence."""
        self._silence = silence
        connection = response.connection
        if connection is not None and connection.protocol is not None:
            connection.protocol.read_timeout = silence
            connection.protocol.start_timeout()

    def _got_further(self, response: ClientResponse) -> None:
        self._progress = asyncio.get_running_loop().time()
        if self._silence != self._endpoint.timeouts.stall:
            self._watch(response, self._endpoint.timeouts.stall)

    def _check_progress(self) -> None:
        """Bytes came, and they were nothing: a server that does only that for long does not answer."""
        timeouts = self._endpoint.timeouts
        if timeouts.progress is None:
            return
        limit = timeouts.progress if self._silence == timeouts.stall else max(timeouts.progress, self._silence or 0.0)
        if asyncio.get_running_loop().time() - self._progress > limit:
            raise connection_lost(self._endpoint.origin, f"the server sent nothing of a reply for {limit:g} s")

    async def _read_to_end(self, response: ClientResponse) -> None:
        try:
            async with asyncio.timeout(END_SECONDS):
                while await response.content.readany():
                    pass
        except Exception:
            return  # everything that is needed has been read

    def _failure(self, error: Exception) -> Exception:
        """A network failure as a typed error, without the cause: aiohttp's errors contain the request's headers."""
        import aiohttp

        origin = self._endpoint.origin
        timeouts = self._endpoint.timeouts
        if isinstance(error, ModelError):
            return error
        if isinstance(
            error,
            (
                aiohttp.ClientConnectorCertificateError,
                aiohttp.ClientConnectorSSLError,
                aiohttp.ServerFingerprintMismatch,
            ),
        ):
            return insecure(origin, error)
        if isinstance(error, aiohttp.SocketTimeoutError):
            return connection_lost(origin, f"the server fell silent for {self._silence or 0:g} s")
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return connection_lost(origin, f"no connection to {origin.address} within {timeouts.connect:g} s")
        if isinstance(error, asyncio.TimeoutError):
            if self._response is None and self._silence is not None:
                return connection_lost(origin, f"the reply did not begin within {self._silence:g} s")
            return connection_lost(origin, f"no complete reply within {timeouts.total:g} s")
        if isinstance(error, aiohttp.ClientConnectorError):
            return connection_lost(
                origin, f"cannot connect to {origin.address}: {error.strerror or error}; is the server running?"
            )
        if isinstance(error, aiohttp.ClientResponseError):
            return bad_reply(origin, f"the server broke the HTTP protocol: {error.message}")
        if isinstance(error, (aiohttp.ClientError, OSError)):
            return connection_lost(origin, f"the connection was lost: {type(error).__name__}: {error}")
        return error
