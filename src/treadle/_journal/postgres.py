"""The journal for many machines: one Postgres database, any number of drivers, one driver per run."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext, suppress
from importlib import import_module
from typing import Any, TypeVar, cast

from treadle._journal.base import InboxItem
from treadle._journal.catalog import statements as sql
from treadle._journal.catalog.journal import CatalogJournal
from treadle._journal.pending_inbox import PendingItems
from treadle._journal.postgres_store import WORDS, Catalog, Connection, Store
from treadle._journal.process import this_process
from treadle._journal.rows import to_rows
from treadle._journal.texts import restored, storable
from treadle._safety.secrets import address_secrets, known_secrets
from treadle._types.errors import (
    ConfigError,
    JournalError,
    MissingExtraError,
    RunBusyError,
    TreadleError,
)
from treadle._types.events import Record

T = TypeVar("T")


class PostgresJournal(CatalogJournal):
    """A journal in a Postgres database (extra `postgres`), in tables of the schema `schema` that the first use creates.

    A driver's claim is a lease by the server's clock, which this object renews while its event loop runs. A driver that
    was disconnected for longer is fenced out by its epoch: its appends are refused.

    After a lost connection (a server that restarts) it reconnects for up to `reconnect_timeout` seconds. Before an
    append whose commit was not confirmed is repeated, the journal checks whether it was stored.
    """

    def __init__(
        self,
        dsn: str,
        *,
        schema: str = "treadle",
        pool_size: int = 8,
        lease: float = 20.0,
        reconnect_timeout: float = 10.0,
    ) -> None:
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,50}", schema):
            raise ConfigError(f"the schema name {schema!r} must consist of lower-case letters, digits and underscores")
        self._dsn = dsn
        known_secrets.keep(self, "journal-password", address_secrets(dsn))
        self._schema = schema
        self._pool_size = pool_size
        self._lease = lease
        self._reconnect_timeout = reconnect_timeout
        self._store = Store(schema, lease)
        self._catalog = Catalog(schema)
        self._driver: Any = None
        self._pool: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        """The one the connections belong to."""
        self._opening = asyncio.Lock()
        self._closed = False
        self._renewing: asyncio.Task[None] | None = None
        self._epochs: dict[str, int] = {}
        """The epoch of the claim of each run that this journal drives."""
        self._pending_items = PendingItems()

    def __repr__(self) -> str:
        return f"PostgresJournal(schema={self._schema!r})"  # the address may contain a password

    async def append(self, records: Sequence[Record]) -> None:
        if not records:
            return
        rows = to_rows(records)
        run = rows[0].run
        epoch, recorded = self._epochs.get(run, 0), self._pending_items.recorded_by(records)
        attempts = 0

        async def job(con: Connection) -> None:
            nonlocal attempts
            attempts += 1
            if attempts == 1 or not await self._store.has_rows(con, rows):
                await self._store.append(con, records, rows, epoch, recorded)

        await self._run(job)
        if recorded:
            self._pending_items.forget(run, recorded)

    async def load(self, run_id: str, after: int = -1, *, salvage: bool = False) -> list[Record]:
        return await self._run(lambda con: self._store.load(con, run_id, after, salvage))

    async def _ask(self, steps: Callable[[sql.Words, Sequence[str]], sql.Steps[T]], said: str = "") -> T:
        async def job(con: Connection) -> T:
            return await self._catalog.run(con, steps(WORDS, await self._store.driven_runs(con)))

        return await self._run(job)

    async def _do(
        self, steps: Callable[[sql.Words], sql.Steps[T]], *, change: bool = True, lock: str = "", again: bool = True
    ) -> T:
        async def job(con: Connection) -> T:
            async with con.transaction() if change else nullcontext():
                if lock:
                    name = f"{self._schema} {lock}"
                    await con.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", name)
                return await self._catalog.run(con, steps(WORDS))

        return await self._run(job, retry=again)

    async def delete(self, run_id: str) -> None:
        await self._run(lambda con: self._store.delete(con, run_id))

    async def claim(self, run_id: str, owner: str) -> int:
        epoch = await self._run(lambda con: self._store.claim(con, run_id, owner, this_process()))
        self._epochs[run_id] = epoch
        self._pending_items.remove_all(run_id)
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._renew_claims(), name="treadle-journal-claims")
        return epoch

    async def release(self, run_id: str, owner: str) -> None:
        await self._run(lambda con: self._store.release(con, run_id, owner))
        self._epochs.pop(run_id, None)

    async def is_driven(self, run_id: str) -> bool:
        before = self._lease
        while True:
            sign = await self._run(lambda con: self._store.sign_of_life(con, run_id))
            if isinstance(sign, bool):
                return sign
            if sign > before:
                return True  # renewed meanwhile
            if sign < self._lease * (3 / 4 - 1 / 20):
                return False  # it renews each quarter of its lease, and has not: it is gone
            before = sign
            await asyncio.sleep(self._lease / 40)

    async def put(self, item: InboxItem) -> None:
        await self._run(lambda con: self._store.put(con, item))

    async def take(self, run_id: str, kinds: Sequence[str] = ()) -> list[InboxItem]:
        # Not repeated: a second attempt would not return what the first may have taken; the next claim puts that back.
        items = await self._run(lambda con: self._store.take(con, run_id, kinds), retry=False)
        if items:
            self._pending_items.add(run_id, items)
        return items

    async def recall(self, run_id: str, item_id: str) -> bool:
        return await self._run(lambda con: self._store.recall(con, run_id, item_id))

    async def aclose(self) -> None:
        """Release the runs that this journal still drives, and close the connections."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait([self._renewing])
        held = [*self._epochs.items()]
        self._epochs.clear()
        if held:
            with suppress(JournalError):  # if the server cannot be reached, the leases expire
                await self._run(lambda con: self._store.release_all(con, held), retry=False)
        self._closed = True
        if self._pool is not None:
            await self._pool.close()

    def close(self) -> None:
        """The same without `await`, for connections of an event loop in another thread (as `run_sync` has one)."""
        loop = self._loop
        if loop is None or loop.is_closed():
            self._closed = True
            return
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if running is loop:
            raise JournalError("the journal is used by the event loop that runs here: write await journal.aclose()")
        if loop.is_running():
            asyncio.run_coroutine_threadsafe(self.aclose(), loop).result()
        else:
            loop.run_until_complete(self.aclose())

    async def _renew_claims(self) -> None:
        while True:
            await asyncio.sleep(self._lease / 4)
            if self._epochs:
                with suppress(JournalError):  # if a claim is lost, the next append fails
                    await self._run(lambda con: self._store.renew_claims(con, [*self._epochs.items()]), retry=False)

    # Connections

    async def _run(self, job: Callable[[Connection], Awaitable[T]], *, retry: bool = True) -> T:
        deadline = time.monotonic() + self._reconnect_timeout
        pause = 0.05
        while True:
            try:
                pool = await self._open()
                async with pool.acquire() as con:
                    return await job(con)
            except TreadleError:
                raise
            except Exception as error:
                # If the server was never reached, its address is probably wrong.
                if (
                    not retry
                    or self._pool is None
                    or not self._is_connection_loss(error)
                    or time.monotonic() > deadline
                ):
                    raise self._explain(error) from error
            await asyncio.sleep(pause)
            pause = min(pause * 2, 1.0)

    async def _open(self) -> Any:
        if self._pool is not None and not self._closed:
            return self._pool
        async with self._opening:
            if self._closed:
                raise JournalError("the journal is closed: open another one, or make a new agent")
            if self._pool is None:
                try:
                    self._driver = import_module("asyncpg")
                except ImportError:
                    raise MissingExtraError("The Postgres journal", "postgres") from None
                self._loop = asyncio.get_running_loop()
                pool = await self._driver.create_pool(
                    self._dsn,
                    min_size=1,
                    max_size=self._pool_size,
                    init=_restore_texts,
                    connection_class=_connection_class(self._driver),
                )
                try:
                    async with pool.acquire() as con:
                        await self._store.migrate(con)
                except BaseException:
                    pool.terminate()
                    raise
                self._pool = pool
            return self._pool

    def _is_connection_loss(self, error: Exception) -> bool:
        """Return whether the connection or the server was lost, which may be temporary."""
        d = self._driver
        lost = (
            OSError,
            d.PostgresConnectionError,
            d.AdminShutdownError,
            d.CrashShutdownError,
            d.CannotConnectNowError,
            d.InternalClientError,  # asyncpg 0.32, on a connection that the server has closed
        )
        return isinstance(error, lost) or (isinstance(error, d.InterfaceError) and "closed" in str(error))

    def _explain(self, error: Exception) -> Exception:
        d = self._driver
        if isinstance(error, d.UniqueViolationError):
            return RunBusyError(f"another driver has stored this record: load the run again ({error})")
        if isinstance(error, d.DiskFullError):
            return JournalError(
                f"the disk of the Postgres server is full; free some space, then resume the run ({error})"
            )
        if isinstance(error, d.ReadOnlySQLTransactionError):
            return JournalError(
                f"the Postgres server is read-only (a replica?): use the address of the primary ({error})"
            )
        if self._is_connection_loss(error) or isinstance(error, TimeoutError):
            return JournalError(
                f"the Postgres server cannot be reached; check its address, then resume the run ({error})"
            )
        if isinstance(error, (d.PostgresError, d.InterfaceError)):
            return JournalError(f"the Postgres server reported an error ({type(error).__name__}: {error})")
        return error


async def _restore_texts(con: Any) -> None:
    await con.set_type_codec("text", schema="pg_catalog", encoder=str, decoder=restored, format="text")


def _connection_class(driver: Any) -> Any:
    """A connection that takes any text (`texts.py`), also in arrays, for which asyncpg has a codec of its own."""

    def taking_any_text(name: str) -> Any:
        method = getattr(driver.Connection, name)

        async def call(con: Any, query: str, *args: Any, **options: Any) -> Any:
            return await method(con, query, *map(_storable, args), **options)

        return call

    names = ("execute", "executemany", "fetch", "fetchrow", "fetchval")
    return type("Connection", (driver.Connection,), {name: taking_any_text(name) for name in names})


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    return [_storable(item) for item in cast("list[Any]", value)] if isinstance(value, list | tuple) else value
