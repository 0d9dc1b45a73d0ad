"""How a program authorizes itself at a remote MCP server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from treadle._types.errors import ConfigError

Grant = Literal["login", "client_credentials", "private_key_jwt", "identity_assertion"]
ShowLogin = Callable[[str], Awaitable[None]]
"""Shows the user the address at which to log in: opens a browser, prints it."""

_NEEDS: dict[Grant, tuple[str, ...]] = {
    "login": (),
    "client_credentials": ("client_id", "client_secret", "issuer"),
    "private_key_jwt": ("client_id", "private_key", "issuer"),
    "identity_assertion": (
        "client_id",
        "client_secret",
        "issuer",
        "identity_token",
        "identity_endpoint",
        "identity_client_id",
    ),
}


class McpAuth(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """OAuth at a remote MCP server, where more is needed than `treadle mcp login`.

    A secret is sent only to the authorization server named by `issuer`, whatever the MCP server says.
    """

    grant: Grant = "login"
    """`login`: a person logs in, once (`treadle mcp login`); the others work without a person."""
    client_id: str = ""
    """The client as registered at the authorization server; without it, a client is registered when logging in."""
    client_secret: str = ""
    """Its secret."""
    issuer: str = ""
    """The authorization server that the client is registered at."""
    scope: str = ""
    """The rights to ask for, separated by spaces; without it, those the server names."""
    client_metadata_url: str = ""
    """An https address that describes the client and is its id, for authorization servers that take one."""
    redirect_port: int = 0
    """The port on this machine that a login comes back to; 0 for any."""
    token_auth: Literal["client_secret_basic", "client_secret_post"] = "client_secret_basic"
    """How the secret is sent."""
    private_key: str = ""
    """For `private_key_jwt`: the key in PEM."""
    signing_algorithm: str = "RS256"
    """For `private_key_jwt`: how it signs."""
    identity_token: str = ""
    """For `identity_assertion`: the ID token of the company's identity provider."""
    identity_endpoint: str = ""
    """The identity provider's token endpoint."""
    identity_client_id: str = ""
    """The client as registered at the identity provider."""

    def __post_init__(self) -> None:
        if missing := [name for name in _NEEDS[self.grant] if not getattr(self, name)]:
            raise ConfigError(f"auth with the grant {self.grant} needs {', '.join(missing)}")
        if self.client_secret and not self.issuer:
            raise ConfigError(
                "auth with a client_secret needs the issuer it belongs to; else the MCP server would decide who gets it"
            )
        if self.client_metadata_url and not _is_metadata_url(self.client_metadata_url):
            raise ConfigError("auth.client_metadata_url must be an https address with a path")
        if not 0 <= self.redirect_port < 65536:
            raise ConfigError(f"auth.redirect_port must be between 0 and 65535, not {self.redirect_port}")

    def __repr__(self) -> str:
        return f"McpAuth(grant={self.grant!r})"  # the rest may be secret

    def secrets(self) -> list[str]:
        return [text for text in (self.client_secret, self.private_key, self.identity_token) if text]


def _is_metadata_url(text: str) -> bool:
    url = urlsplit(text)
    return url.scheme == "https" and bool(url.hostname) and url.path not in ("", "/")
