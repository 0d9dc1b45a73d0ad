"""The journals keep the contract, each on its real store."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from treadle._journal.memory import MemoryJournal
from treadle._journal.sqlite import SqliteJournal

from .contract import JournalContract, Make


class TestMemory(JournalContract):
    @pytest.fixture
    def make(self) -> Make:
        journal = MemoryJournal()
        return lambda: journal


class TestSqlite(JournalContract):
    @pytest.fixture
    def make(self, tmp_path: Path) -> Make:
        return lambda: SqliteJournal(tmp_path / "journal.db")


class TestSqliteFull(JournalContract):
    @pytest.fixture
    def make(self, tmp_path: Path) -> Make:
        return lambda: SqliteJournal(tmp_path / "journal.db", synchronous="FULL")


@pytest.mark.net
class TestPostgres(JournalContract):
    @pytest.fixture
    def make(self, postgres: str) -> Make:
        from treadle._journal.postgres import PostgresJournal

        schema = f"t{uuid.uuid4().hex[:12]}"
        return lambda: PostgresJournal(postgres, schema=schema)
