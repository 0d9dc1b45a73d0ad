"""The Postgres journal: the contract, lost connections, claims of several drivers."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from treadle._journal.postgres import PostgresJournal
from treadle._types.errors import ConfigError, JournalError, MissingExtraError, RunBusyError

from .contract import JournalContract, Make
from .logs import done, log, started

pytestmark = pytest.mark.net

Open = Callable[..., PostgresJournal]


@pytest.fixture
def schema() -> str:
    return f"t{uuid.uuid4().hex[:12]}"


@pytest.fixture
def open(postgres: str, schema: str) -> Open:
    return lambda **options: PostgresJournal(options.pop("dsn", postgres), schema=schema, **options)


@asynccontextmanager
async def server(postgres: str) -> AsyncGenerator[Any]:
    import asyncpg

    con: Any = await asyncpg.connect(postgres)  # pyright: ignore
    try:
        yield con
    finally:
        await con.close()


class TestContract(JournalContract):
    @pytest.fixture
    def make(self, open: Open) -> Make:
        return open


async def test_whether_a_run_is_driven_on_a_machine_that_cannot_be_seen_from_here(
    open: Open, postgres: str, schema: str
):
    """Only the renewal of its claim tells that its process lives."""
    journal, other = open(lease=2.0), open(lease=2.0)
    await journal.append([started("a")])
    await journal.claim("a", "me")
    async with server(postgres) as con:
        await con.execute(f"UPDATE {schema}.claims SET host = 'elsewhere'")
    assert await other.is_driven("a"), "it is renewed"
    journal._renewing.cancel()  # as if the machine were gone
    assert not await other.is_driven("a"), "overdue"
    await asyncio.sleep(2.0)
    assert not await other.is_driven("a"), "expired"
    await journal.aclose()
    await other.aclose()


async def test_broken_connections_are_replaced(open: Open, postgres: str):
    journal = open()
    await journal.append([started("a")])
    for seq in range(1, 6):
        async with server(postgres) as con:
            await con.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND datname IS NOT NULL"
            )
        await journal.append([done("a", seq)])
    assert len(await journal.load("a")) == 6
    await journal.aclose()


class Proxy:
    """Passes bytes on to the server; once armed, it drops the connection before the answer to the next append."""

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self.armed = False
        self.lost = 0

    async def start(self) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_unix_connection(self._socket)

        async def forth() -> None:
            while data := await reader.read(65536):
                to_server.write(data)
            to_server.close()

        async def back() -> None:
            while data := await from_server.read(65536):
                if self.armed and b"INSERT 0 1" in data:
                    self.armed = False
                    self.lost += 1
                    break
                writer.write(data)
            writer.close()
            to_server.close()

        await asyncio.gather(forth(), back(), return_exceptions=True)


async def test_an_append_whose_commit_was_not_confirmed_is_not_repeated(open: Open, postgres_server: Any):
    proxy = Proxy(f"{postgres_server.pgdata}/.s.PGSQL.5432")
    port = await proxy.start()
    journal = open(dsn=f"postgresql://postgres@127.0.0.1:{port}/postgres")
    await journal.append([started("a")])
    proxy.armed = True
    await journal.append([done("a", 1)])
    assert proxy.lost == 1
    await journal.append([done("a", 2)])
    assert [r.seq for r in await journal.load("a")] == [0, 1, 2]
    # A record that another driver has stored there is not mistaken for this one.
    with pytest.raises(RunBusyError):
        await journal.append([done("a", 2, "other")])
    await journal.aclose()
    await proxy.stop()


async def test_a_driver_renews_its_claims(open: Open, postgres: str, schema: str):
    driver = open(lease=0.2)
    await driver.claim("a", "driver")
    async with server(postgres) as con:
        ends = [await con.fetchval(f"SELECT until FROM {schema}.claims")]
        while len(ends) < 3:
            await asyncio.sleep(0.01)
            if (until := await con.fetchval(f"SELECT until FROM {schema}.claims")) != ends[-1]:
                ends.append(until)
    assert ends == sorted(ends)
    await driver.aclose()


async def test_a_claim_of_another_machine_holds_until_its_lease_expires_and_is_fenced_out_then(
    open: Open, postgres: str, schema: str
):
    old, new = open(), open()
    await old.claim("a", "old")
    await old.append([started("a")])
    async with server(postgres) as con:
        await con.execute(f"UPDATE {schema}.claims SET host = 'elsewhere', until = now() + interval '1 hour'")
        with pytest.raises(RunBusyError, match="old"):
            await new.claim("a", "new")
        await con.execute(f"UPDATE {schema}.claims SET until = now() - interval '1 second'")
        assert await new.claim("a", "new") == 2
    with pytest.raises(RunBusyError, match="new"):
        await old.append([done("a", 1, "too late")])
    await new.append([done("a", 1)])
    assert len(await new.load("a")) == 2
    await old.aclose()
    await new.append([done("a", 2)])
    await new.aclose()


CRASHER = """
import asyncio, os, sys
from treadle._journal.postgres import PostgresJournal
from treadle._types.events import Record, RunStarted

async def main():
    journal = PostgresJournal(sys.argv[1], schema=sys.argv[2], lease=3600)
    await journal.claim("a", "crasher")
    await journal.append([Record("a", 0, 1.0, RunStarted("go"))])
    os.kill(os.getpid(), 9)

asyncio.run(main())
"""


async def test_the_run_of_a_killed_process_of_this_machine_is_taken_over_at_once(
    open: Open, postgres: str, schema: str
):
    """Although its lease has an hour left."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", CRASHER, postgres, schema)
    await process.wait()
    journal = open()
    assert await journal.claim("a", "next") == 2
    await journal.append([done("a", 1)])
    assert len(await journal.load("a")) == 2
    await journal.aclose()


async def test_drivers_that_compete_for_many_runs_get_each_one_once(open: Open):
    journals = [open(pool_size=3) for _ in range(4)]
    won: list[str] = []

    async def compete(journal: PostgresJournal, run: str, owner: str) -> None:
        try:
            await journal.claim(run, owner)
        except RunBusyError:
            return
        won.append(run)
        for item in log(run):
            await journal.append([item])

    await asyncio.gather(*(compete(journal, f"r{n}", f"d{d}") for n in range(15) for d, journal in enumerate(journals)))
    assert sorted(won) == sorted(f"r{n}" for n in range(15))
    assert {info.records for info in await journals[0].list()} == {6}
    for journal in journals:
        await journal.aclose()


async def test_a_server_that_is_not_there_is_a_clear_error_without_the_password():
    """The error comes at once: only a server that was reached before is tried again, here for an hour."""
    journal = PostgresJournal("postgresql://me:hunter2-hunter2@127.0.0.1:9/none", reconnect_timeout=3600)
    with pytest.raises(JournalError, match="cannot be reached") as caught:
        await journal.append([started("a")])
    assert "hunter2" not in f"{caught.value!r} {journal!r}"
    await journal.aclose()
    with pytest.raises(JournalError, match="closed"):
        await journal.load("a")


def test_a_missing_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(MissingExtraError, match=r"treadle\[postgres\]"):
        asyncio.run(PostgresJournal("postgresql://127.0.0.1/none").list())


def test_a_schema_name_cannot_carry_sql():
    with pytest.raises(ConfigError, match="lower-case letters"):
        PostgresJournal("postgresql://127.0.0.1/none", schema='x"; DROP TABLE y')
