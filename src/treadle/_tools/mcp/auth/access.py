"""The authorization of one MCP server: what its HTTP client uses, and why it was refused."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec.structs import replace

from treadle._safety.secrets import known_secrets
from treadle._tools.mcp.auth.settings import McpAuth, ShowLogin
from treadle._tools.mcp.auth.store import CredentialFile
from treadle._types.errors import ConfigError


class Access:
    """The authorization state of one server, shared by all its connections."""

    def __init__(
        self, name: str, url: str, headers: Mapping[str, str], auth: McpAuth | None, show: ShowLogin | None
    ) -> None:
        self.name, self.url, self.show = name, url, show
        self.auth = auth or McpAuth()
        self.has_key = auth is None and any(header.lower() == "authorization" for header in headers)
        self.plain_http = False
        """Its address is plain http: no token is sent there."""
        self.anew = False
        """Log in although tokens are stored."""
        self.logged_in = False
        """A person logged in during this connection."""
        self.problem = ""
        """Why the server last refused; empty once it answers."""
        known_secrets.keep(self, f"mcp-{name}", self.auth.secrets())
        self._credentials = self.file() if url else None
        if self._credentials is not None and not self.has_key:
            self._credentials.read()  # its tokens are masked from now on, also before the first connection

    def for_login(self, show: ShowLogin, scope: str, port: int) -> Access:
        """The same server, for a person who wants to log in now."""
        if self.auth.grant != "login":
            raise ConfigError(f"the MCP server {self.name!r} is authorized by {self.auth.grant}: it needs no login")
        if self.has_key:
            raise ConfigError(f"the MCP server {self.name!r} has an authorization header: it needs no login")
        auth = replace(self.auth, scope=scope or self.auth.scope, redirect_port=port or self.auth.redirect_port)
        access = Access(self.name, self.url, {}, auth, show)
        access.anew = True
        return access

    def file(self) -> CredentialFile:
        return CredentialFile(self.url, self.name)

    def command(self) -> str:
        """The command that logs in. An address that may contain a key is not repeated."""
        url = urlsplit(self.url)
        by_address = self.auth == McpAuth() and not url.query and url.username is None
        return f"treadle mcp login {shlex.quote(self.url if by_address else self.name)}" + (
            "" if by_address else " -f FILE"
        )

    def refused(self, status: int, scope: str = "") -> str:
        """Return the text for the log and for the model."""
        if self.has_key:
            return f"it refused the key in `headers` (HTTP {status}): authorization failed; correct the key"
        if self.plain_http:
            return f"it asks for authorization (HTTP {status}), which is done only over https; use its https address"
        if scope or status == 403:
            more = f" --scope {shlex.quote(scope)}" if scope else ""
            return f"it asks for authorization with more rights (HTTP {status}); log in with: {self.command()}{more}"
        if self.auth.grant != "login":
            return f"it refused the authorization by {self.auth.grant} (HTTP {status})"
        return f"it asks for authorization (HTTP {status}); log in with: {self.command()}"
