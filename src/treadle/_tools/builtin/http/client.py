"""The HTTP client of the built-in tools. A model chooses the address, so every hop is checked.

Only http and https; only public addresses, checked on the address that is then connected to; every redirect is checked
again; size, time and decompression are limited.
"""

from __future__ import annotations

import asyncio
import socket
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct

from treadle._models.transport.redirects import Hop, RedirectRefused
from treadle._safety.bounds import Count, Seconds, bounded
from treadle._tools.builtin.http.addresses import is_ip_address, is_public, parse_url, system_resolve
from treadle._tools.builtin.reading.charset import decode_text
from treadle._tools.builtin.reading.compression import Inflater
from treadle._types.errors import ToolError
from treadle._version import __version__

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession
    from yarl import URL

T = TypeVar("T")
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Looks up the IP addresses of a host and port."""

USER_AGENT = f"Mozilla/5.0 (compatible; Treadle/{__version__})"
_MAX_REDIRECTS = 5


class HttpResponse(Struct, frozen=True):
    """A complete response, within the limits."""

    url: str
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def mime(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def text(self) -> str:
        return decode_text(self.body, self.headers.get("content-type", ""))

    def json(self, shape: type[T]) -> T:
        """The body as `shape`; a `ToolError` says where it differs."""
        try:
            return msgspec.json.decode(self.body, type=shape, strict=False)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ToolError(f"the response does not have the expected form: {error}") from None


class LeadsElsewhere(ToolError):
    """A redirect to another server, for whoever asks about it first."""

    def __init__(self, url: str) -> None:
        super().__init__("the address redirects to another server")
        self.url = url


class NotAllowed(ToolError):
    """The address is not one that this client may connect to."""


class GuardedClient:
    """Sends the requests of tools. It has one HTTP session for each event loop, closed with the loop or by `close`."""

    @bounded
    def __init__(
        self,
        *,
        allow_hosts: Iterable[str] = (),
        allow_private: bool = False,
        timeout: Seconds = 20.0,
        max_bytes: Count = 5_000_000,
        resolver: Resolve | None = None,
    ) -> None:
        """`allow_hosts` (`host` or `host:port`) may be reached although they are private."""
        self.timeout = timeout
        self.max_bytes = max_bytes
        self._allow_hosts = frozenset(host.lower() for host in allow_hosts)
        self._allow_private = allow_private
        self._resolve = resolver or system_resolve
        self._sessions: dict[asyncio.AbstractEventLoop, tuple[ClientSession, AsyncGenerator[ClientSession, None]]] = {}
        # Kept apart from the client: in a garbage cycle the sessions would be found open, together with it.
        weakref.finalize(self, self._sessions.clear).atexit = False

    async def get(self, url: str, **options: Any) -> HttpResponse:
        return await self.request("GET", url, **options)

    async def request(
        self,
        method: str,
        url: str,
        *,
        params: Mapping[str, str | int] | None = None,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
        form: Mapping[str, str] | None = None,
        timeout: float | None = None,
        max_bytes: int | None = None,
        leave: bool = True,
    ) -> HttpResponse:
        """The complete response, whatever its status. Without `leave`, a redirect to another server is raised as
        `LeadsElsewhere`.

        All failures are a `ToolError` that names the host only: queries and headers may contain keys.
        """
        import aiohttp

        target = self.checked(url)
        if params:
            target = target.update_query(params)
        body, extra = _body(json, form)
        limit = self.timeout if timeout is None else timeout
        try:
            async with asyncio.timeout(limit):
                return await self._follow(
                    Hop(method, target, {**extra, **(headers or {})}, body), max_bytes or self.max_bytes, leave
                )
        except TimeoutError:
            raise ToolError(f"{target.host} did not send a complete response within {limit:g} s") from None
        except aiohttp.ClientError as error:
            raise ToolError(f"could not reach {target.host}: {_reason(error)}") from None
        except (UnicodeError, ValueError) as error:
            raise ToolError(f"could not reach {target.host}: {type(error).__name__}") from None

    async def close(self) -> None:
        """Close this event loop's session."""
        entry = self._sessions.pop(asyncio.get_running_loop(), None)
        if entry is not None:
            await entry[1].aclose()

    async def _follow(self, hop: Hop, max_bytes: int, leave: bool) -> HttpResponse:
        session = await self._session()
        for _ in range(_MAX_REDIRECTS + 1):
            async with session.request(
                hop.method, hop.url, headers=hop.headers, data=hop.body, allow_redirects=False
            ) as response:
                try:
                    following = hop.after(response.status, response.headers.get("Location"))
                except RedirectRefused as error:
                    raise ToolError(f"refused: {error}") from None
                if following is None:
                    data = await _read(response, max_bytes)
                    lower = {name.lower(): value for name, value in response.headers.items()}
                    address = str(hop.url.with_fragment(None))
                    return HttpResponse(url=address, status=response.status, headers=lower, body=data)
                self.checked(str(following.url))
                if not leave and (following.url.host, following.url.explicit_port) != (
                    hop.url.host, hop.url.explicit_port
                ):  # fmt: skip
                    raise LeadsElsewhere(str(following.url))
                hop = following
        raise ToolError(f"{hop.url.host} redirects more than {_MAX_REDIRECTS} times")

    def checked(self, text: str) -> URL:
        """The address as a URL, if this client may request it. Host names are checked later, when they are resolved."""
        url = parse_url(text)
        if url.scheme not in ("http", "https"):
            raise ToolError(f"only http and https addresses can be fetched, not {(url.scheme or text)[:40]!r}")
        if url.user is not None or url.password is not None:
            raise ToolError("refused: the address contains a user name or password")
        host = (url.host or "").rstrip(".")
        if not host:
            raise ToolError("the address has no host name")
        if is_ip_address(host):
            self._require_allowed(host, url.port or 0, [host])
        return url

    def _require_allowed(self, host: str, port: int, addresses: Sequence[str]) -> None:
        """Raise `ToolError` unless every address of a host may be connected to."""
        name = host.lower().rstrip(".")
        if self._allow_private or name in self._allow_hosts or f"{name}:{port}" in self._allow_hosts:
            return
        if addresses and all(map(is_public, addresses)):
            return
        raise NotAllowed(
            f"refused: {host} is not a public address (the operator of this agent can allow it with allow_hosts)"
        )

    async def _addresses(self, host: str, port: int) -> Sequence[str]:
        addresses = await self._resolve(host, port)
        self._require_allowed(host, port, addresses)
        return addresses

    async def _session(self) -> ClientSession:
        loop = asyncio.get_running_loop()
        for old in [other for other in list(self._sessions) if other.is_closed()]:
            self._sessions.pop(old, None)
        entry = self._sessions.get(loop)
        if entry is None or entry[0].closed:
            keeper = _keep_session(_connector(weakref.WeakMethod(self._addresses)))
            entry = (await anext(keeper), keeper)
            self._sessions[loop] = entry
        return entry[0]


async def _keep_session(connector: Any) -> AsyncGenerator[ClientSession, None]:
    """A generator, because an event loop closes its generators when it ends, and closes one that is dropped before: so
    the session is always closed. It must not hold on to the client, or only the garbage collector would find both."""
    import aiohttp

    session = aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip, deflate"},
        timeout=aiohttp.ClientTimeout(total=None),
    )
    async with session:
        yield session


def _connector(resolver: weakref.WeakMethod[Resolve]) -> Any:
    """A connector that uses `resolver` only: a name is looked up once, so its address cannot change after the check."""
    import aiohttp
    from aiohttp.abc import AbstractResolver, ResolveResult

    class CheckedResolver(AbstractResolver):
        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
        ) -> list[ResolveResult]:
            lookup = resolver()
            addresses = await lookup(host, port) if lookup is not None else ()
            kinds = [(address, socket.AF_INET6 if ":" in address else socket.AF_INET) for address in addresses]
            flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
            return [
                ResolveResult(hostname=host, host=address, port=port, family=kind, proto=0, flags=flags)
                for address, kind in kinds
                if family in (socket.AF_UNSPEC, kind)
            ]

        async def close(self) -> None:
            pass

    return aiohttp.TCPConnector(resolver=CheckedResolver(), use_dns_cache=False, limit=50)


async def _read(response: ClientResponse, limit: int) -> bytes:
    """The decompressed body; a `ToolError` when it has more than `limit` bytes."""
    inflater = Inflater(response.headers.get("Content-Encoding", "").strip().lower())
    too_large = ToolError(f"the response is larger than {limit} bytes")
    out, raw = bytearray(), 0
    async for chunk in response.content.iter_chunked(65_536):
        raw += len(chunk)
        out += inflater.feed(chunk, limit + 1 - len(out))
        if raw > limit or len(out) > limit:
            response.close()
            raise too_large
    return bytes(out)


def _body(json: Any, form: Mapping[str, str] | None) -> tuple[bytes | None, dict[str, str]]:
    if json is not None:
        return msgspec.json.encode(json), {"Content-Type": "application/json"}
    if form is not None:
        from urllib.parse import urlencode

        return urlencode(form).encode(), {"Content-Type": "application/x-www-form-urlencoded"}
    return None, {}


def _reason(error: Exception) -> str:
    """Describe a failure without the address, which may contain a key."""
    cause = getattr(error, "os_error", None) or error
    reasons = {
        "ClientConnectorDNSError": "unknown host name",
        "ServerDisconnectedError": "the server closed the connection",
    }
    return reasons.get(type(error).__name__, getattr(cause, "strerror", None) or type(error).__name__)
