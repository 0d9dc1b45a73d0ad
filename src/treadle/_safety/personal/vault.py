"""Store the values of placeholders: in memory or in a separate file, never in a journal."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from treadle._safety.personal.kinds import Kind, canonical
from treadle._types.errors import ConfigError, JournalError

_LETTERS = "bcdfghjklmnpqrstvwxz"
"""Consonants: no word, no number and no other datum is made of them."""
SIZE = 7
PLACEHOLDER = re.compile(rf"\[([A-Za-z]{{2,5}})_([{_LETTERS}{_LETTERS.upper()}]{{{SIZE}}})\]")
OPEN = re.compile(rf"\[(?:[A-Za-z]{{0,5}}|[A-Za-z]{{2,5}}_[{_LETTERS}{_LETTERS.upper()}]{{0,{SIZE}}})\Z")
"""The beginning of a placeholder, at the end of a text."""
MAX_REMEMBERED = 100_000
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS secret (one INTEGER PRIMARY KEY CHECK (one = 1), value BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS meaning (owner TEXT, placeholder TEXT, value TEXT, PRIMARY KEY (owner, placeholder))",
)


class Vault:
    """A datum has the same placeholder in all runs of one user, made with a key that only the vault has: nobody can
    guess the placeholder of a datum, nor tell the datum from it."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(path) if path is not None else None
        self._values: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()
        self._key = secrets.token_bytes(32) if self.path is None else b""

    def placeholder(self, user: str, kind: Kind, value: str) -> str:
        """Return the placeholder of a datum; it is stored, in the file if there is one, before this returns."""
        owner = self.owner(user)
        for attempt in range(8):
            made = self._make_placeholder(owner, kind, canonical(kind, value), attempt)
            stored = self._value(owner, made)
            if stored is None:
                self._store(owner, made, value)
                return made
            if canonical(kind, stored) == canonical(kind, value):
                return made
        raise JournalError("no placeholder is left for a personal datum")  # one in many billions

    def value(self, user: str, placeholder: str) -> str | None:
        """Return the value of a placeholder; None if this vault does not have it for this user."""
        kind, _, letters = placeholder[1:-1].partition("_")
        return self._value(self.owner(user), f"[{kind.upper()}_{letters.lower()}]")

    def forget(self, user: str) -> None:
        """Delete the values of all placeholders of a user."""
        owner = self.owner(user)
        with self._lock:
            self._values = {key: value for key, value in self._values.items() if key[0] != owner}
        if self.path is not None:
            with self._open() as db:
                db.execute("DELETE FROM meaning WHERE owner = ?", (owner,))

    def owner(self, user: str) -> str:
        return hmac.new(self._secret(), user.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()[:32]

    def _make_placeholder(self, owner: str, kind: Kind, value: str, attempt: int) -> str:
        text = f"{owner}\0{kind}\0{value}\0{attempt}".encode(errors="surrogatepass")
        number = int.from_bytes(hmac.new(self._secret(), text, hashlib.sha256).digest()[:8])
        letters: list[str] = []
        for _ in range(SIZE):
            number, place = divmod(number, len(_LETTERS))
            letters.append(_LETTERS[place])
        return f"[{kind.upper()}_{''.join(letters)}]"

    def _value(self, owner: str, placeholder: str) -> str | None:
        with self._lock:
            value = self._values.get((owner, placeholder))
        if value is not None or self.path is None:
            return value
        with self._open() as db:
            row = db.execute(
                "SELECT value FROM meaning WHERE owner = ? AND placeholder = ?", (owner, placeholder)
            ).fetchone()
        if row is not None:
            self._remember(owner, placeholder, str(row[0]))
        return None if row is None else str(row[0])

    def _store(self, owner: str, placeholder: str, value: str) -> None:
        if self.path is not None:
            with self._open() as db:
                db.execute("INSERT OR IGNORE INTO meaning VALUES (?, ?, ?)", (owner, placeholder, value))
        self._remember(owner, placeholder, value)

    def _remember(self, owner: str, placeholder: str, value: str) -> None:
        with self._lock:
            self._values[owner, placeholder] = value
            if len(self._values) > MAX_REMEMBERED:
                self._values.pop(next(iter(self._values)))

    def _secret(self) -> bytes:
        if not self._key:
            with self._open() as db:
                db.execute("INSERT OR IGNORE INTO secret VALUES (1, ?)", (secrets.token_bytes(32),))
                self._key = bytes(db.execute("SELECT value FROM secret").fetchone()[0])
        return self._key

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        """Open a connection for one operation, which makes it safe in every thread and process.

        Writes are on disk when the block ends.
        """
        assert self.path is not None
        try:
            # Nobody but the owner of the process may read it, from its first byte on.
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600))
            db = sqlite3.connect(self.path, timeout=10, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(f"the vault {self.path} cannot be opened: {error}") from error
        try:
            for statement in _SCHEMA:
                db.execute(statement)
            yield db
        except sqlite3.Error as error:
            # As with a journal: a run must not continue with a value that is not stored.
            raise JournalError(f"the vault {self.path} cannot be used: {error}") from error
        finally:
            db.close()
