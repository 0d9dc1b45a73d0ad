"""The server behind a reverse proxy: which of its headers are trusted, and the path that it is served under.

Anybody can send `X-Forwarded-*`. They count only where the connection itself comes from a proxy that the operator has
named; then the client is the last address of `X-Forwarded-For` that is not such a proxy, the scheme and the host are
those of the client's own request. From anybody else the headers are as if they had not been sent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from starlette.types import ASGIApp, Receive, Scope, Send

from treadle._types.errors import ConfigError

Network = IPv4Network | IPv6Network


def networks(trusted: Iterable[str]) -> list[Network]:
    """Parse addresses and networks (`10.0.0.0/8`) of proxies; raise `ConfigError` for anything else."""
    try:
        return [ip_network(one, strict=False) for one in trusted]
    except ValueError as error:
        raise ConfigError(f"trusted_proxies: {error}; give addresses such as 127.0.0.1 or 10.0.0.0/8") from None


def checked_prefix(prefix: str) -> str:
    """Return the path as Starlette wants it: it begins with a slash and does not end with one."""
    plain = prefix.strip("/")
    if not plain:
        return ""
    if any(char in plain for char in "?#%\\ ") or "//" in plain or ".." in plain.split("/"):
        raise ConfigError(f"path_prefix: {prefix!r} is no path such as /agents")
    return f"/{plain}"


class BehindProxy:
    """ASGI middleware. It works whether the proxy leaves the prefix on the path or takes it off."""

    def __init__(
        self, app: ASGIApp, trusted: Iterable[str] = (), prefix: str = "", roots: Collection[str] = ()
    ) -> None:
        """`roots` are the first parts of the server's own paths. They are needed for a prefix that is one of them:
        with `/v1`, `/v1/v1/models` has it and `/v1/models` does not."""
        self._app = app
        self._roots = roots
        self._trusted = networks(trusted)
        self._prefix = checked_prefix(prefix)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = self._with_prefix(self._forwarded(scope))
        await self._app(scope, receive, send)

    def _forwarded(self, scope: Scope) -> Scope:
        """Return the request as the proxy got it."""
        client = scope.get("client")
        if not self._trusted or client is None or not self._is_proxy(client[0]):
            return scope
        headers = {name: value for name, value in scope["headers"] if name.startswith(b"x-forwarded-")}
        chain = [one.strip() for one in _text(headers, b"x-forwarded-for").split(",") if one.strip()]
        address = next((one for one in reversed(chain) if not self._is_proxy(one)), chain[0] if chain else client[0])
        scope = {**scope, "client": (address[:100], 0)}
        scheme = _text(headers, b"x-forwarded-proto").rpartition(",")[2].strip().lower()
        if scheme in ("http", "https"):
            scope["scheme"] = scheme
        if host := _text(headers, b"x-forwarded-host").rpartition(",")[2].strip():
            others = [(name, value) for name, value in scope["headers"] if name != b"host"]
            scope["headers"] = [*others, (b"host", host.encode("latin-1", "replace"))]
        return scope

    def _with_prefix(self, scope: Scope) -> Scope:
        if not self._prefix:
            return scope
        path = scope["path"]
        if not self._has_prefix(path):
            path = self._prefix + path
        return {**scope, "root_path": self._prefix, "path": path}

    def _has_prefix(self, path: str) -> bool:
        if path == self._prefix:
            return True
        rest = path.removeprefix(f"{self._prefix}/")
        return rest != path and (not self._roots or rest.partition("/")[0] in self._roots)

    def _is_proxy(self, address: str) -> bool:
        try:
            own = ip_address(address)
        except ValueError:
            return False
        return any(own in network for network in self._trusted if network.version == own.version)


def _text(headers: dict[bytes, bytes], name: bytes) -> str:
    return headers.get(name, b"").decode("latin-1")
