"""The one place that knows what is secret in this process: what the environment holds, and what was given in code.

Whoever is given a key (a model, an MCP connection, a server, an agent) keeps it here for as long as it lives; when the
last one is gone, so is the key.
"""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Iterable, Mapping

SHORTEST = 8
"""Shorter values would be found inside ordinary words."""

_SECRET_NAME = (
    r"(?i)(_|^)(API_?)?(KEYS?|TOKEN|SECRETS?|PAT|PASS|PASSWD|PASSPHRASE|PWD|PW|CREDENTIALS?|JWT)$|APIKEY$|PASSWORD"
)
_FOLDERS = frozenset({"PWD"})
_ADDRESS_NAME = r"(?i)(_|^)(URL|URI|DSN|CONNECTION_STRING)$"
_SECRET_HEADER = r"(?i)auth|key|token|secret|cookie|password|credential|session"
_SCHEME = r"(?i)(?:bearer|basic|token|digest|apikey)\s+"
_PLACEHOLDERS = frozenset(
    (
        *("not-needed", "no-key-needed", "no-key-required", "sk-no-key-required", "no-api-key", "your-api-key"),
        *("placeholder", "anything", "dummy-key", "unused-key"),
        *("lm-studio", "lmstudio", "llama-cpp", "llama.cpp", "llamacpp", "localhost"),
    )
)
"""Values that people pass to servers that require a key and ignore it; also the names of such servers."""


def names_secret(name: str) -> bool:
    """Return whether what has this name is secret: a variable, a parameter of a tool."""
    return re.search(_SECRET_NAME, name) is not None


def environment_secrets(env: Mapping[str, str]) -> dict[str, str]:
    """Collect the secret values of an environment, with the names of their variables."""
    secrets: dict[str, str] = {}
    for name, value in env.items():
        if name in _FOLDERS:
            continue
        if names_secret(name):
            # GOOGLE_APPLICATION_CREDENTIALS and its like name a file.
            a_path = value.startswith(("/", "~", "./")) and name.upper().endswith(("CREDENTIALS", "CREDENTIAL"))
            if len(value) >= SHORTEST and not a_path:
                secrets[value] = name
        elif re.search(_ADDRESS_NAME, name):
            secrets.update(dict.fromkeys(address_secrets(value), name))
    return secrets


def address_secrets(address: str) -> list[str]:
    """Return the password of an address, encoded and decoded; a short one includes the `:` and `@` around it."""
    if "@" not in address:
        return []
    from urllib.parse import unquote, urlsplit

    try:
        password = urlsplit(address).password
    except ValueError:
        return []
    if not password:
        return []
    forms = dict.fromkeys((password, unquote(password)))
    return [form if len(form) >= SHORTEST else f":{form}@" for form in forms]


def header_secrets(headers: Mapping[str, str]) -> list[str]:
    """Return the secret values of HTTP headers, without their scheme (`Bearer`)."""
    secrets: list[str] = []
    for name, value in headers.items():
        if re.search(_SECRET_HEADER, name):
            scheme = re.match(_SCHEME, value)
            rest = value[scheme.end() :] if scheme else value
            secrets += [rest, *_parts(name.lower(), scheme[0].strip().lower() if scheme else "", rest)]
    return list(dict.fromkeys([*secrets, *filter(None, map(_as_utf8, secrets))]))


def _parts(name: str, scheme: str, value: str) -> list[str]:
    """Split off the parts of a header's value that are secret on their own: a password, the values of cookies."""
    if scheme == "basic":
        from base64 import b64decode

        try:
            pair = b64decode(value, validate=True).decode()
        except ValueError:
            return []
        return [pair, pair.partition(":")[2]]
    return [one.partition("=")[2].strip().strip('"') for one in value.split(";")] if "cookie" in name else []


def _as_utf8(value: str) -> str:
    """Decode as UTF-8 what a header parser decoded as Latin-1; return an empty string if that fails."""
    try:
        return "" if value.isascii() else value.encode("latin-1").decode()
    except UnicodeError:
        return ""


class KnownSecrets:
    """Secrets given in code, counted by those who use them."""

    def __init__(self) -> None:
        self.version = 0
        """Changes whenever the secrets do."""
        self._users: dict[str, tuple[str, int]] = {}
        self._lock = threading.RLock()  # a garbage collection may drop an owner while another is being added

    def keep(self, owner: object, name: str, values: Iterable[str], *, shortest: int = SHORTEST) -> None:
        """Treat these values as secrets for as long as `owner` lives, except placeholders and very short ones."""
        secrets = [
            value for value in dict.fromkeys(values) if len(value) >= shortest and value.lower() not in _PLACEHOLDERS
        ]
        if not secrets:
            return
        users = self._users
        for value in secrets:
            self._count(users, value, name, 1)
        weakref.finalize(owner, self._forget, users, name, secrets).atexit = False

    def values(self) -> dict[str, str]:
        """Each secret with its name."""
        with self._lock:
            return {value: name for value, (name, _) in self._users.items()}

    def __len__(self) -> int:
        return len(self._users)

    def __repr__(self) -> str:
        return f"KnownSecrets({len(self)})"

    def _forget(self, users: dict[str, tuple[str, int]], name: str, values: list[str]) -> None:
        for value in values:
            self._count(users, value, name, -1)

    def _count(self, users: dict[str, tuple[str, int]], value: str, name: str, change: int) -> None:
        """Change a count in the table it was added to: an owner dropped late must not take from a newer table."""
        with self._lock:
            first, count = users.get(value, (name, 0))
            if count + change > 0:
                users[value] = (first, count + change)
            else:
                users.pop(value, None)
            if count == 0 or count + change == 0:
                self.version += 1


known_secrets = KnownSecrets()
