"""Who sends a request: a bearer token or the page's cookie names the user; without tokens there is one user."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct
from starlette.requests import Request

from treadle._server.errors import ApiError
from treadle._server.settings import ServerSettings
from treadle._types.errors import ConfigError

COOKIE = "treadle_session"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_MIN_TOKEN_LENGTH = 16


class Principal(Struct, frozen=True):
    """Who sends a request: a user of a server with tokens, the operator of one without (who may see everything), or
    nobody (without a token, where one is needed)."""

    user: str = ""
    address: str = ""
    role: Literal["user", "operator", "nobody"] = "nobody"

    @property
    def key(self) -> str:
        """The key by which limits are counted."""
        return f"user:{self.user}" if self.user else f"address:{self.address}"


def _fingerprint(token: str, person: bytes) -> str:
    return blake2b(token.encode("utf-8", "replace"), digest_size=32, person=person).hexdigest()


class Authenticator:
    """Keeps only fingerprints of tokens: neither a dump of the process's memory nor the cookie reveals one."""

    def __init__(self, tokens: Mapping[str, str] | None, settings: ServerSettings) -> None:
        self.open = not tokens
        self._settings = settings
        self._users: dict[str, str] = {}
        self._sessions: dict[str, str] = {}
        for token, user in (tokens or {}).items():
            if len(token) < _MIN_TOKEN_LENGTH or not user:
                raise ConfigError(
                    f"a token needs at least {_MIN_TOKEN_LENGTH} characters and a user: tokens={{'<token>': '<user>'}}"
                )
            self._users[_fingerprint(token, b"token")] = user
            self._sessions[_fingerprint(token, b"session")] = user
        users = {*self._users.values()}
        self._operators = {*settings.operators} or (users if len(users) == 1 else set[str]())
        self._hosts = {*LOOPBACK, *settings.allowed_hosts}

    def principal(self, request: Request) -> Principal | None:
        address = request.client.host if request.client else ""
        if self.open:
            return Principal(address=address, role="operator")
        user = self.user_of(_bearer(request)) or self._sessions.get(request.cookies.get(COOKIE, ""), "")
        return Principal(user, address, "user") if user else None

    def is_operator(self, principal: Principal) -> bool:
        return principal.role == "operator" or principal.user in self._operators

    def user_of(self, token: str) -> str:
        return self._users.get(_fingerprint(token, b"token"), "") if token else ""

    def session_of(self, token: str) -> str:
        """Return the cookie value that a browser sends in place of the token."""
        return _fingerprint(token, b"session")

    def check_origin(self, request: Request) -> None:
        """Refuse pages of other sites that act in a user's name, or reach a server without tokens by DNS rebinding."""
        host = request.headers.get("host", "")
        if self.open and _name(host) not in self._hosts:
            problem = f"requests for the host {_name(host)!r} are refused: add it to allowed_hosts"
            raise ApiError(403, "forbidden_host", problem)
        origin = request.headers.get("origin")
        if origin is None or request.method in ("GET", "HEAD", "OPTIONS") or origin in self._settings.cors_origins:
            return
        if urlsplit(origin).netloc != host:
            problem = "pages of other sites may not call this server: add their origin to cors_origins"
            raise ApiError(403, "forbidden_origin", problem)


def _bearer(request: Request) -> str:
    """Return the token, also from where Anthropic's clients and A2A's put it."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key", "").strip()


def _name(host: str) -> str:
    """Return the host without its port, also of `[::1]:80`."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


def is_loopback(host: str) -> bool:
    return host in LOOPBACK or host.startswith("127.")
