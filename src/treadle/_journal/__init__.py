"""Journals, where runs are stored: `open_journal` returns the one that a path or an address names."""

from __future__ import annotations

import os
import re

from treadle._journal.base import InboxItem, Journal, RunInfo
from treadle._types.errors import ConfigError

__all__ = ["InboxItem", "Journal", "RunInfo", "open_journal"]


def open_journal(spec: str | os.PathLike[str] | Journal | None = None) -> Journal:
    """The journal that `spec` names. Nothing is opened before its first use.

    A path or `sqlite:///runs.db` (four slashes for an absolute path), `postgres://user@host/database`, `memory:`, or a
    journal, which is returned unchanged. None and `sqlite:` stand for the file in the user's state folder.
    """
    if spec is not None and not isinstance(spec, (str, os.PathLike)):
        return spec
    text = os.fspath(spec or "sqlite:")
    if text in ("memory:", ":memory:"):
        from treadle._journal.memory import MemoryJournal

        return MemoryJournal()
    if text.startswith(("postgres://", "postgresql://")):
        from treadle._journal.postgres import PostgresJournal

        return PostgresJournal(text)
    from treadle._journal.sqlite import SqliteJournal

    return SqliteJournal(_file(text))


def anchored(spec: str) -> str:
    """The same journal for a process that works in another folder."""
    if spec in ("memory:", ":memory:") or spec.startswith(("postgres://", "postgresql://")):
        return spec
    from treadle._journal.sqlite import SqliteJournal

    return str(SqliteJournal(_file(spec)).path.absolute())


def _file(text: str) -> str | None:
    """The path in what names a file; None for the user's own."""
    if text in ("", "sqlite:", "sqlite://", "sqlite:///"):
        return None
    path = text.removeprefix("sqlite:///")
    if scheme := _SCHEME.match(path):
        raise ConfigError(
            f"journal {scheme[0]}...: no such kind of journal; give a path, sqlite:///PATH (four slashes for an "
            "absolute path), postgres://USER@HOST/DATABASE or memory:"
        )
    return path


_SCHEME = re.compile(r"sqlite:|[a-z][a-z0-9+.-]+://", re.IGNORECASE)
