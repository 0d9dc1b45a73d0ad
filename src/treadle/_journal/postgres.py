"""The journal for many machines: one Postgres database, any number of drivers, one driver per run."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, TypeVar

from treadle._journal.base import MONTH, InboxItem, RunInfo
from treadle._journal.postgres_store import Connection, Store
from treadle._journal.process import this_process
from treadle._journal.rows import to_rows
from treadle._journal.taken import TakenItems
from treadle._types.errors import (
    ConfigError,
    JournalError,
    MissingExtraError,
    RunBusyError,
    RunNotFoundError,
    TreadleError,
)
from treadle._types.events import Record

T = TypeVar("T")


class PostgresJournal:
    """A journal in a Postgres database (extra `postgres`). The tables live in the database schema `schema` and are made at first use.

    A driver's claim is a lease on the server's clock that this object renews while its event loop runs. A driver that was
    cut off for longer is fenced out by its epoch: whatever it still wants to append is refused.

    A connection that breaks is replaced for up to `patience` seconds (a server that restarts); an append whose
    commit was not confirmed is looked up before it is repeated.
    """

    def __init__(
        self, dsn: str, *, schema: str = "treadle", pool_size: int = 8, lease: float = 20.0, patience: float = 10.0
    ) -> None:
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,50}", schema):
            raise ConfigError(f"the schema name {schema!r} must be a plain lower-case name")
        self._dsn = dsn
        self._schema = schema
        self._pool_size = pool_size
        self._lease = lease
        self._patience = patience
        self._store = Store(schema, lease)
        self._driver: Any = None
        self._pool: Any = None
        self._opening = asyncio.Lock()
        self._closed = False
        self._beating: asyncio.Task[None] | None = None
        self._epochs: dict[str, int] = {}
        """The runs this journal drives, by the epoch of its claim."""
        self._taken = TakenItems()

    def __repr__(self) -> str:
        return f"PostgresJournal(schema={self._schema!r})"  # the address may hold a password

    async def append(self, records: Sequence[Record]) -> None:
        if not records:
            return
        rows = to_rows(records)
        run = rows[0].run
        epoch, settled = self._epochs.get(run, 0), self._taken.settled_by(records)
        attempts = 0

        async def job(con: Connection) -> None:
            nonlocal attempts
            attempts += 1
            if attempts == 1 or not await self._store.holds(con, rows):
                await self._store.append(con, records, rows, epoch, settled)

        await self._run(job)
        if settled:
            self._taken.forget(run, settled)

    async def load(self, run_id: str, after: int = -1, *, salvage: bool = False) -> list[Record]:
        return await self._run(lambda con: self._store.load(con, run_id, after, salvage))

    async def list(
        self, *, limit: int = 50, status: str = "", conversation: str = "", parent: str | None = None, user: str = ""
    ) -> list[RunInfo]:
        return await self._run(lambda con: self._store.infos(con, limit, status, conversation, parent, user))

    async def delete(self, run_id: str) -> None:
        await self._run(lambda con: self._store.delete(con, run_id))

    async def gc(
        self, *, older_than: float = MONTH, keep: int = 0, statuses: Sequence[str] = ("finished",)
    ) -> Sequence[str]:
        old = await self._run(lambda con: self._store.expired(con, time.time() - older_than, keep, statuses))
        gone: list[str] = []
        for run in old:
            try:
                await self.delete(run)
                gone.append(run)
            except (RunBusyError, RunNotFoundError):
                continue
        return gone

    async def claim(self, run_id: str, owner: str) -> int:
        epoch = await self._run(lambda con: self._store.claim(con, run_id, owner, this_process()))
        self._epochs[run_id] = epoch
        self._taken.give_back(run_id)
        if self._beating is None:
            self._beating = asyncio.create_task(self._beat(), name="treadle-journal-claims")
        return epoch

    async def release(self, run_id: str, owner: str) -> None:
        await self._run(lambda con: self._store.release(con, run_id, owner))
        self._epochs.pop(run_id, None)

    async def put(self, item: InboxItem) -> None:
        await self._run(lambda con: self._store.put(con, item))

    async def take(self, run_id: str, kinds: Sequence[str] = ()) -> list[InboxItem]:
        # Not tried again: what the first attempt may have taken would not be found by a second, but is by the next claim.
        items = await self._run(lambda con: self._store.take(con, run_id, kinds), again=False)
        if items:
            self._taken.add(run_id, items)
        return items

    async def recall(self, run_id: str, item_id: str) -> bool:
        return await self._run(lambda con: self._store.recall(con, run_id, item_id))

    async def aclose(self) -> None:
        """Release what this journal still drives, and close the connections."""
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.wait([self._beating])
        held = [*self._epochs.items()]
        self._epochs.clear()
        if held:
            with suppress(JournalError):  # a server that is gone needs no farewell: the leases run out
                await self._run(lambda con: self._store.let_go(con, held), again=False)
        self._closed = True
        if self._pool is not None:
            await self._pool.close()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._lease / 4)
            if self._epochs:
                with suppress(JournalError):  # a claim that is lost shows at the next append
                    await self._run(lambda con: self._store.beat(con, [*self._epochs.items()]), again=False)

    # Connections

    async def _run(self, job: Callable[[Connection], Awaitable[T]], *, again: bool = True) -> T:
        deadline = time.monotonic() + self._patience
        pause = 0.05
        while True:
            try:
                pool = await self._open()
                async with pool.acquire() as con:
                    return await job(con)
            except TreadleError:
                raise
            except Exception as error:
                # A server that was never reached is more likely misspelt than restarting.
                if not again or self._pool is None or not self._is_lost(error) or time.monotonic() > deadline:
                    raise self._explain(error) from error
            await asyncio.sleep(pause)
            pause = min(pause * 2, 1.0)

    async def _open(self) -> Any:
        if self._pool is not None and not self._closed:
            return self._pool
        async with self._opening:
            if self._closed:
                raise JournalError("the journal is closed")
            if self._pool is None:
                try:
                    self._driver = import_module("asyncpg")
                except ImportError:
                    raise MissingExtraError("The Postgres journal", "postgres") from None
                pool = await self._driver.create_pool(self._dsn, min_size=1, max_size=self._pool_size)
                try:
                    async with pool.acquire() as con:
                        await self._store.migrate(con)
                except BaseException:
                    pool.terminate()
                    raise
                self._pool = pool
            return self._pool

    def _is_lost(self, error: Exception) -> bool:
        """The connection or the server went away, and may come back."""
        d = self._driver
        lost = (
            OSError,
            d.PostgresConnectionError,
            d.AdminShutdownError,
            d.CrashShutdownError,
            d.CannotConnectNowError,
            d.InternalClientError,  # asyncpg 0.32 on a connection whose end has come and was not yet read
        )
        return isinstance(error, lost) or (isinstance(error, d.InterfaceError) and "closed" in str(error))

    def _explain(self, error: Exception) -> Exception:
        d = self._driver
        if isinstance(error, d.UniqueViolationError):
            return RunBusyError(f"another driver has stored this record: load the run again to see ({error})")
        if isinstance(error, d.DiskFullError):
            return JournalError(f"the Postgres server has no room left; free some, then resume the run ({error})")
        if isinstance(error, d.ReadOnlySQLTransactionError):
            return JournalError(f"the Postgres server is read-only (a replica?): name the primary ({error})")
        if self._is_lost(error) or isinstance(error, TimeoutError):
            return JournalError(
                f"the Postgres server cannot be reached; check its address, then resume the run ({error})"
            )
        if isinstance(error, (d.PostgresError, d.InterfaceError)):
            return JournalError(f"the Postgres server refused ({type(error).__name__}: {error})")
        return error
