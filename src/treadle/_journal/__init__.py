"""Journals, where runs are stored: `open_journal` returns the one that a path or an address names."""

from __future__ import annotations

import os

from treadle._journal.base import InboxItem, Journal, RunInfo

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

    if text in ("sqlite:", "sqlite://", "sqlite:///"):
        return SqliteJournal()
    return SqliteJournal(text.removeprefix("sqlite:///"))
