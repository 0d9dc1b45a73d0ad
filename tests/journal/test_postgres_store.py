"""The tables of the Postgres journal: damage and migrations."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest

from treadle._journal import postgres_store
from treadle._journal.postgres import PostgresJournal
from treadle._types.errors import CorruptLogError, JournalError

from .logs import log

pytestmark = pytest.mark.net


@pytest.fixture
def schema() -> str:
    return f"t{uuid.uuid4().hex[:12]}"


async def execute(postgres: str, sql: str) -> None:
    import asyncpg

    con: Any = await asyncpg.connect(postgres)  # pyright: ignore
    try:
        await con.execute(sql)
    finally:
        await con.close()


async def test_a_damaged_record_is_named(postgres: str, schema: str):
    journal = PostgresJournal(postgres, schema=schema)
    await journal.append(log("a"))
    await execute(postgres, f"UPDATE {schema}.records SET data = replace(data, '384', '385') WHERE seq = 5")
    with pytest.raises(CorruptLogError, match="a#5"):
        await journal.load("a")
    assert len(await journal.load("a", salvage=True)) == 5
    await journal.aclose()


def test_an_older_database_is_migrated_and_a_newer_one_refused(
    postgres: str, schema: str, monkeypatch: pytest.MonkeyPatch
):
    async def use() -> None:
        journals = [PostgresJournal(postgres, schema=schema) for _ in range(4)]
        try:
            await asyncio.gather(*(journal.append(log(uuid.uuid4().hex)) for journal in journals))
        finally:
            for journal in journals:
                await journal.aclose()

    asyncio.run(use())
    with monkeypatch.context() as newer:
        more = (*postgres_store.MIGRATIONS, "ALTER TABLE {s}.runs ADD COLUMN label text NOT NULL DEFAULT 'none'")
        newer.setattr(postgres_store, "MIGRATIONS", more)
        asyncio.run(use())
    with pytest.raises(JournalError, match=r"newer Treadle \(version 7, this one reads up to 6\)"):
        asyncio.run(use())
