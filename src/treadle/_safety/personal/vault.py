"""What each placeholder stands for: in the memory of this process, or in a file of its own. Never in a journal."""

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
        self._known: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()
        self._key = secrets.token_bytes(32) if self.path is None else b""

    def placeholder(self, user: str, kind: Kind, value: str) -> str:
        """What stands for a datum; it is remembered, in the file if there is one, before this returns."""
        owner = self.owner(user)
        for attempt in range(8):
            made = self._made(owner, kind, canonical(kind, value), attempt)
            kept = self._value(owner, made)
            if kept is None:
                self._keep(owner, made, value)
                return made
            if canonical(kind, kept) == canonical(kind, value):
                return made
        raise JournalError("no placeholder is left for a personal datum")  # one in many billions

    def value(self, user: str, placeholder: str) -> str | None:
        """What a placeholder stands for; None if this vault does not know it, or knows it of another user."""
        kind, _, letters = placeholder[1:-1].partition("_")
        return self._value(self.owner(user), f"[{kind.upper()}_{letters.lower()}]")

    def forget(self, user: str) -> None:
        """From now on nobody can tell what the placeholders of this user stand for."""
        owner = self.owner(user)
        with self._lock:
            self._known = {key: value for key, value in self._known.items() if key[0] != owner}
        if self.path is not None:
            with self._open() as db:
                db.execute("DELETE FROM meaning WHERE owner = ?", (owner,))

    def owner(self, user: str) -> str:
        return hmac.new(self._secret(), user.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()[:32]

    def _made(self, owner: str, kind: Kind, value: str, attempt: int) -> str:
        text = f"{owner}\0{kind}\0{value}\0{attempt}".encode(errors="surrogatepass")
        number = int.from_bytes(hmac.new(self._secret(), text, hashlib.sha256).digest()[:8])
        letters: list[str] = []
        for _ in range(SIZE):
            number, place = divmod(number, len(_LETTERS))
            letters.append(_LETTERS[place])
        return f"[{kind.upper()}_{''.join(letters)}]"

    def _value(self, owner: str, placeholder: str) -> str | None:
        with self._lock:
            known = self._known.get((owner, placeholder))
        if known is not None or self.path is None:
            return known
        with self._open() as db:
            row = db.execute(
                "SELECT value FROM meaning WHERE owner = ? AND placeholder = ?", (owner, placeholder)
            ).fetchone()
        if row is not None:
            self._remember(owner, placeholder, str(row[0]))
        return None if row is None else str(row[0])

    def _keep(self, owner: str, placeholder: str, value: str) -> None:
        if self.path is not None:
            with self._open() as db:
                db.execute("INSERT OR IGNORE INTO meaning VALUES (?, ?, ?)", (owner, placeholder, value))
        self._remember(owner, placeholder, value)

    def _remember(self, owner: str, placeholder: str, value: str) -> None:
        with self._lock:
            self._known[owner, placeholder] = value
            if len(self._known) > MAX_REMEMBERED:
                self._known.pop(next(iter(self._known)))

    def _secret(self) -> bytes:
        if not self._key:
            with self._open() as db:
                db.execute("INSERT OR IGNORE INTO secret VALUES (1, ?)", (secrets.token_bytes(32),))
                self._key = bytes(db.execute("SELECT value FROM secret").fetchone()[0])
        return self._key

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection]:
        """A connection for one step: rarely needed, and safe in every thread and process. What it wrote is on disk
        when the block ends."""
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
            # As with a journal: what cannot be kept must not go on.
            raise JournalError(f"the vault {self.path} cannot be used: {error}") from error
        finally:
            db.close()
