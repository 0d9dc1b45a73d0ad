"""Sends the requests of an authorization. Their addresses come from the MCP server and from what it names: each must be
https, or on this machine where the server is; an address inside a private network only where the server is in one."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import cache
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

from treadle._tools.builtin.http.addresses import is_public, system_resolve

MAX_BYTES = 256_000
"""Of one response: metadata, a registration or a token."""
SECONDS = 30.0
STREAM_SECONDS = 300.0
LOOKUP_SECONDS = 5.0
"""For a name that a proxy will look up itself: networks with a proxy often answer no such question."""
_PRIVATE_ENDINGS = frozenset({"internal", "intranet", "private", "local", "lan", "corp", "home"})


class RefusedAddressError(Exception):
    """An address that a server named and that is not called."""


class GuardedHttp:
    """An HTTP client for one MCP server's authorization. `trusted` are addresses that the operator has set."""

    def __init__(self, server_url: str, trusted: Collection[str] = ()) -> None:
        self._server = urlsplit(server_url).hostname or ""
        self._trusted = {urlsplit(address).hostname for address in trusted}
        self._server_kind = ""

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        self.require_scheme(str(url))
        request.headers["Accept-Encoding"] = "identity"
        limits = httpx2.Timeout(SECONDS)
        if proxy := _proxy_for(url.scheme, url.host):
            await self._check_for_proxy(url.host)
            made = httpx2.AsyncClient(proxy=proxy, verify=_trust(), trust_env=False, timeout=limits)
        else:
            pinned = _Pinned((await self._allowed_addresses(url.host, url.port or 443))[0])
            made = httpx2.AsyncClient(transport=pinned, timeout=limits)
        try:
            async with asyncio.timeout(SECONDS), made as client:
                request.extensions = {**request.extensions, "timeout": limits.as_dict()}
                return await _whole(await client.send(request, stream=True))
        except TimeoutError:
            raise RefusedAddressError(f"{url.host} did not answer within {SECONDS:g} seconds") from None

    def require_scheme(self, address: str) -> None:
        """Raise unless tokens and codes may travel to this address, or a browser be sent there."""
        url = urlsplit(address)
        host = url.hostname or ""
        if not host or url.username is not None:
            raise RefusedAddressError("the server named an address without a host, or with a user in it")
        if url.scheme == "https" or (url.scheme == "http" and is_loopback(host) and is_loopback(self._server)):
            return
        raise RefusedAddressError(f"the server named {url.scheme}://{host}; only https is used for authorization")

    async def _allowed_addresses(self, host: str, port: int) -> Sequence[str]:
        try:
            addresses = await system_resolve(host, port)
        except OSError:
            raise RefusedAddressError(f"the address of {host} is unknown") from None
        await self._check(host, {_kind(address) for address in addresses})
        return addresses

    async def _check_for_proxy(self, host: str) -> None:
        """A proxy looks a name up itself, so what it reaches cannot be pinned. What is known here is checked: an
        address as such, a name that is private by its form, and where a name leads when it is looked up here."""
        literal = _literal(host)
        kinds = {_kind(literal) if literal else _kind_of_name(host)}
        if not literal:
            with suppress(OSError, UnicodeError, TimeoutError):
                async with asyncio.timeout(LOOKUP_SECONDS):
                    kinds |= {_kind(address) for address in await system_resolve(host, 443)}
        await self._check(host, kinds)

    async def _check(self, host: str, kinds: set[str]) -> None:
        if host in (self._server, *self._trusted):
            return
        if not kinds or not kinds <= {"public", await self._kind_of_server()} - {"other"}:
            raise RefusedAddressError(f"the server named {host}, which is not a public address; it was not called")

    async def _kind_of_server(self) -> str:
        if not self._server_kind:
            try:
                kinds = {_kind(address) for address in await system_resolve(self._server, 443)}
            except OSError:
                kinds = {_kind_of_name(self._server)}
            self._server_kind = kinds.pop() if len(kinds) == 1 else "public"
        return self._server_kind


@cache
def _trust() -> ssl.SSLContext:
    """Made once: it takes longer than a request."""
    return httpx2.create_ssl_context()


def http_client(
    headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
) -> httpx2.AsyncClient:
    """The HTTP client of one connection to a server, which may hold a response open."""
    patience = timeout or httpx2.Timeout(SECONDS, read=STREAM_SECONDS)
    return httpx2.AsyncClient(headers=headers, timeout=patience, auth=auth, verify=_trust())


class _Pinned(httpx2.AsyncHTTPTransport):
    """Connects to an address that was checked: a name is looked up once, so it cannot change after the check."""

    def __init__(self, address: str) -> None:
        super().__init__(verify=_trust(), trust_env=False)
        self._address = address

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        name = request.url.host
        pinned = httpx2.Request(
            request.method,
            request.url.copy_with(host=self._address),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": name},
        )
        return await super().handle_async_request(pinned)


async def _whole(response: httpx2.Response) -> httpx2.Response:
    """The response with its body; a large or a compressed one is refused."""
    body = bytearray()
    try:
        if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise RefusedAddressError("the authorization server answered in a compressed form it was not asked for")
        async for piece in response.aiter_raw():
            body += piece
            if len(body) > MAX_BYTES:
                raise RefusedAddressError(f"the authorization server's answer is larger than {MAX_BYTES} bytes")
    finally:
        await response.aclose()
    whole = httpx2.Response(
        response.status_code, headers=response.headers, content=bytes(body), request=response.request
    )
    whole.next_request = response.next_request
    return whole


def _kind(address: str) -> str:
    """public, loopback, private (of an organization), or other: link-local, metadata services, unspecified."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if is_public(address):
        return "public"
    if ip.is_loopback:
        return "loopback"
    organization = ip.is_private and not ip.is_link_local and not ip.is_unspecified and not ip.is_reserved
    return "private" if organization else "other"


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine, by its form: the address of a name may change."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _literal(host: str) -> str:
    """The address that a host is, also in a notation that only some read (octal, hex, one number); else empty."""
    host = host.rstrip(".")
    try:
        return str(ipaddress.ip_address(host.partition("%")[0]))
    except ValueError:
        pass
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except (OSError, ValueError):
        return ""


def _kind_of_name(host: str) -> str:
    """Classify a name by its form: one that can only be meant inside a network, or on a machine, is not public."""
    labels = host.lower().rstrip(".").split(".")
    if labels[-1] in ("localhost", "localdomain") or labels[0] in ("metadata", "instance-data"):
        return "other"
    return (
        "private" if len(labels) == 1 or labels[-1] in _PRIVATE_ENDINGS or labels[-2:] == ["home", "arpa"] else "public"
    )


def _proxy_for(scheme: str, host: str) -> str:
    """The proxy that requests to a host go through, from the environment; empty for none."""
    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all") or ""
    if not proxy or is_loopback(host) or proxy_bypass(host):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"
