"""The tokens of `treadle mcp login`: one file per server, readable by its owner only.

A file is found by the server's address, not by its name: another document that uses the same name for another server
does not get at the tokens.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec
from msgspec import Struct

from treadle._safety.data import DataError, decode_json, read_text
from treadle._safety.logs import get_logger
from treadle._safety.secrets import known_secrets
from treadle._types.errors import ConfigError
from treadle._types.paths import state_folder, write_private

logger = get_logger()


class Credentials(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """The stored result of a login. The last four fields are the SDK's own records."""

    server: str
    name: str = ""
    expires_at: float | None = None
    tokens: dict[str, Any] = {}
    client: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    resource: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"Credentials({self.name!r})"


def canonical(url: str) -> str:
    """The address that identifies a server: without user, fragment and trailing slash."""
    parts = urlsplit(url)
    try:
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise ConfigError("the address of the MCP server has an invalid port") from None
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    return urlunsplit((parts.scheme.lower(), host + port, parts.path.rstrip("/"), parts.query, ""))


class CredentialFile:
    """The file of one server. Reading takes what another process wrote in the meantime."""

    def __init__(self, url: str, name: str = "", folder: Path | None = None) -> None:
        self.server, self.name = canonical(url), name
        self.path = (folder or credentials_folder()) / f"{hashlib.sha256(self.server.encode()).hexdigest()[:32]}.json"
        self._read_at: tuple[int, int] | None = None

    def changed(self) -> bool:
        """Tell whether another process has replaced the file since it was read or written here."""
        return self._stamp() != self._read_at

    def read(self) -> Credentials:
        """Return the stored credentials, or an empty record."""
        self._read_at = self._stamp()
        nothing = Credentials(server=self.server, name=self.name)
        if self._read_at is None:
            return nothing
        try:
            if os.name != "nt" and self.path.stat().st_mode & 0o077:
                logger.warning("others could read %s; it is private now", self.path)
                self.path.chmod(0o600)
            credentials = decode_json(read_text(self.path), Credentials)
        except (OSError, DataError) as error:
            logger.warning("cannot read the tokens in %s: %s", self.path, type(error).__name__)
            return nothing
        if credentials.server != self.server:
            return nothing
        self._guard(credentials)
        return credentials

    def write(self, credentials: Credentials) -> None:
        """Replace the file as a whole; a reader sees the old one or the new one."""
        self._guard(credentials)
        try:
            write_private(self.path, msgspec.json.encode(credentials))
        except OSError as error:
            raise ConfigError(f"cannot keep the tokens in {self.path.parent}: {error.strerror}") from None
        self._read_at = self._stamp()

    def remove(self) -> bool:
        """Remove the stored login; return whether there was one."""
        try:
            self.path.unlink()
        except FileNotFoundError:
            return False
        return True

    def _guard(self, credentials: Credentials) -> None:
        """Tokens are masked in whatever is logged, recorded or shown."""
        fields = (
            credentials.tokens.get("access_token"),
            credentials.tokens.get("refresh_token"),
            credentials.client.get("client_secret"),
        )
        known_secrets.keep(self, f"mcp-{self.name or 'token'}", [text for text in fields if isinstance(text, str)])

    def _stamp(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino


def credentials_folder() -> Path:
    return state_folder() / "mcp"


def logins() -> Iterator[Credentials]:
    """Yield every stored login."""
    for path in sorted(credentials_folder().glob("*.json")):
        with suppress(OSError, DataError):
            yield decode_json(read_text(path), Credentials)
