"""The tables of the Postgres journal, and each operation on them as one method that takes a connection."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar

import msgspec

from treadle._journal.base import InboxItem, RunInfo
from treadle._journal.blobs import references
from treadle._journal.catalog import statements as sql
from treadle._journal.catalog.tables import REQUESTS, SPENDING, SUMMARIES, TABLES, TITLES, for_postgres
from treadle._journal.catalog.values import SAID
from treadle._journal.process import ProcessIdentity, is_alive
from treadle._journal.rows import (
    QUESTION_CHARS,
    Row,
    from_rows,
    initial_info,
    not_found,
    refuse_if_fenced,
    refuse_unless_next,
    status_after,
)
from treadle._types.errors import JournalError, RunBusyError
from treadle._types.events import Record

T = TypeVar("T")


class Connection(Protocol):
    """The part of asyncpg's connection that is used here; asyncpg has no type annotations."""

    async def execute(self, query: str, *args: object) -> str: ...
    async def executemany(self, query: str, args: Sequence[Sequence[object]]) -> None: ...
    async def fetch(self, query: str, *args: object) -> list[Any]: ...
    async def fetchrow(self, query: str, *args: object) -> Any: ...
    async def fetchval(self, query: str, *args: object) -> Any: ...
    def transaction(self) -> AbstractAsyncContextManager[object]: ...


# The table `migrations` holds the number of migrations a database has had. Never change one that was released: add one.
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE {s}.records(
        run text NOT NULL, seq integer NOT NULL, time float8 NOT NULL, parent text NOT NULL, type text NOT NULL,
        schema integer NOT NULL, data text NOT NULL, sum bigint NOT NULL, PRIMARY KEY(run, seq));
    CREATE TABLE {s}.runs(
        n bigint GENERATED ALWAYS AS IDENTITY, run text PRIMARY KEY, parent text NOT NULL, agent text NOT NULL,
        model text NOT NULL, question text NOT NULL, conversation text NOT NULL, "user" text NOT NULL,
        status text NOT NULL, stop_reason text NOT NULL, created float8 NOT NULL);
    CREATE INDEX runs_created ON {s}.runs(created, n);
    CREATE INDEX runs_parent ON {s}.runs(parent) WHERE parent <> '';
    CREATE INDEX runs_conversation ON {s}.runs(conversation, created) WHERE conversation <> '';
    CREATE TABLE {s}.inbox(
        n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run text NOT NULL, id text NOT NULL, kind text NOT NULL,
        payload text NOT NULL, taken boolean NOT NULL DEFAULT false, UNIQUE(run, id));
    CREATE TABLE {s}.claims(
        run text PRIMARY KEY, epoch bigint NOT NULL, owner text NOT NULL, host text NOT NULL, pid bigint NOT NULL,
        started text NOT NULL, until timestamptz NOT NULL);
    """,
    for_postgres(SUMMARIES),
    """
    CREATE TABLE {s}.contents(hash text PRIMARY KEY, data bytea NOT NULL);
    CREATE TABLE {s}.uses(run text NOT NULL, hash text NOT NULL, PRIMARY KEY(run, hash));
    CREATE INDEX uses_hash ON {s}.uses(hash);
    """,
    for_postgres(TITLES),
    for_postgres(REQUESTS),
    for_postgres(SPENDING),
)


_LONG = f"length(r.question) >= {QUESTION_CHARS} AND l.type = 'run_started'"
WORDS = sql.Words(
    updated="coalesce((SELECT time FROM {s}records AS l WHERE l.run = r.run ORDER BY seq DESC LIMIT 1), r.created)",
    records="coalesce((SELECT max(seq) + 1 FROM {s}records AS l WHERE l.run = r.run), 0)",
    tags="(SELECT CAST(json_agg(tag) AS text) FROM {s}tags AS t WHERE t.run = r.run)",
    lower="lower",
    listed="SELECT jsonb_array_elements_text(CAST(:listed AS jsonb))",
    bucket="CAST(floor(r.created / :span) AS bigint)",
    begins="starts_with(r.run, :prefix)",
    text_records=f"SELECT 1 FROM {{s}}records AS l WHERE l.run = r.run AND (l.type IN {SAID!r} OR ({_LONG}))",
    like="ILIKE",
)
_TYPES = {
    "run": "text", "tool": "text", "note": "text", "thumb": "text", "title": "text", "tag": "text", "text": "text",
    "listed": "text", "prefix": "text",
    "cost": "float8", "elapsed": "float8", "created": "float8", "since": "float8", "until": "float8", "span": "float8",
    "conversation": "text", "parent": "text", "user": "text", "agent": "text", "model": "text", "status": "text",
    "stop_reason": "text", "key": "text", "usage": "text", "content": "text", "time": "float8",
}  # fmt: skip


def _type_of(name: str) -> str:
    return "text" if name.startswith("said_") else _TYPES.get(name, "bigint")


class Catalog:
    """Runs the statements, for the tables in one database schema."""

    def __init__(self, schema: str) -> None:
        self._place = f'"{schema}".'

    async def run(self, con: Connection, steps: sql.Steps[T]) -> T:
        try:
            statement = next(steps)
            while True:
                statement = steps.send(await self._ask(con, *statement))
        except StopIteration as done:
            return done.value

    async def _ask(self, con: Connection, statement: str, values: Mapping[str, Any]) -> list[Any]:
        """`:name` becomes the number of a parameter, with its type: Postgres cannot always infer that."""
        names: list[str] = []

        def number(match: re.Match[str]) -> str:
            name = match[1]
            if name not in names:
                names.append(name)
            return f"CAST(${names.index(name) + 1} AS {_type_of(name)})"

        text = re.sub(r":([a-z_]+)", number, statement.replace("{s}", self._place))
        return await con.fetch(text, *(values[name] for name in names))


class Store:
    """The statements, for the tables in one database schema."""

    def __init__(self, schema: str, lease: float) -> None:
        self._schema = schema
        self._lease = lease

    def _sql(self, text: str) -> str:
        return text.replace("{s}", f'"{self._schema}"')

    async def migrate(self, con: Connection) -> None:
        async with con.transaction():
            await con.execute("SELECT pg_advisory_xact_lock(hashtext($1))", f"treadle {self._schema}")
            # Checked first: a role may be allowed to use a schema and not to create one.
            if not await con.fetchval("SELECT 1 FROM pg_namespace WHERE nspname = $1", self._schema):
                await con.execute(self._sql("CREATE SCHEMA {s}"))
            if not await con.fetchval("SELECT to_regclass($1)", self._sql("{s}.migrations")):
                await con.execute(self._sql("CREATE TABLE {s}.migrations(seen integer NOT NULL)"))
                await con.execute(self._sql("INSERT INTO {s}.migrations VALUES(0)"))
            seen = await con.fetchval(self._sql("SELECT seen FROM {s}.migrations"))
            if seen > len(MIGRATIONS):
                raise JournalError(
                    f"the database was written by a newer Treadle (version {seen}, this one reads up to "
                    f"{len(MIGRATIONS)}): upgrade Treadle"
                )
            for script in MIGRATIONS[seen:]:
                await con.execute(self._sql(script))
            if seen < len(MIGRATIONS):
                await con.execute(self._sql("UPDATE {s}.migrations SET seen = $1"), len(MIGRATIONS))

    # Records and runs

    async def append(
        self, con: Connection, records: Sequence[Record], rows: Sequence[Row], epoch: int, recorded: Sequence[str]
    ) -> None:
        statuses = [status for record in records if (status := status_after(record.event))]
        contents = {key: content for row in rows for key, content in row.contents.items()}
        if rows[0].seq > 0 and not statuses and not recorded and not contents:
            return await self._insert(con, rows, epoch)  # the usual case: one statement, one round trip
        async with con.transaction():
            await self._insert(con, rows, epoch)
            if contents:
                await self._insert_contents(con, rows[0].run, contents)
            if rows[0].seq == 0:
                await self._insert_info(con, initial_info(records[0]))
            for status in statuses:
                await con.execute(
                    self._sql("UPDATE {s}.runs SET status = $2, stop_reason = $3 WHERE run = $1"), rows[0].run, *status
                )
            if recorded:
                await con.execute(
                    self._sql("DELETE FROM {s}.inbox WHERE run = $1 AND id = ANY($2::text[])"), rows[0].run, recorded
                )
        return None

    async def _insert(self, con: Connection, rows: Sequence[Row], epoch: int) -> None:
        run, first = rows[0].run, rows[0].seq
        # FOR SHARE: this append waits for a claim in progress and then sees it; a later claim waits for this append.
        done = await con.execute(
            self._sql("""
            WITH claim AS MATERIALIZED (SELECT epoch, owner FROM {s}.claims WHERE run = $1 FOR SHARE)
            INSERT INTO {s}.records SELECT $1, seq, time, parent, type, schema, data, sum
            FROM unnest($2::int[], $3::float8[], $4::text[], $5::text[], $6::int[], $7::text[], $8::bigint[])
                AS new(seq, time, parent, type, schema, data, sum)
            WHERE NOT EXISTS (SELECT 1 FROM claim WHERE epoch <> $9 AND (owner <> '' OR $9 > 0))
                AND $10 = (SELECT coalesce(max(seq), -1) + 1 FROM {s}.records WHERE run = $1)
            """),
            run,
            *([row[column] for row in rows] for column in range(1, 6)),
            [row.data.decode() for row in rows],
            [row.sum for row in rows],
            epoch,
            first,
        )
        if done == "INSERT 0 0":
            await self._raise_refusal(con, run, first, epoch)

    async def _insert_contents(self, con: Connection, run: str, contents: Mapping[str, bytes]) -> None:
        await self._lock_contents(con)
        insert_content = self._sql("INSERT INTO {s}.contents VALUES($1, $2) ON CONFLICT DO NOTHING")
        insert_use = self._sql("INSERT INTO {s}.uses VALUES($1, $2) ON CONFLICT DO NOTHING")
        for key, content in contents.items():
            await con.execute(insert_content, key, content)
            await con.execute(insert_use, run, key)

    async def _lock_contents(self, con: Connection) -> None:
        """Lock until the transaction ends, so that no other driver deletes a content that this one has just found."""
        await con.execute("SELECT pg_advisory_xact_lock(hashtext($1))", f"treadle contents {self._schema}")

    async def _raise_refusal(self, con: Connection, run: str, first: int, epoch: int) -> None:
        claim = await con.fetchrow(self._sql("SELECT epoch, owner FROM {s}.claims WHERE run = $1"), run)
        if claim is not None:
            refuse_if_fenced(run, epoch, claim[0], claim[1])
        last = await con.fetchval(self._sql("SELECT coalesce(max(seq), -1) FROM {s}.records WHERE run = $1"), run)
        refuse_unless_next(run, first, last)
        raise RunBusyError(
            f"record {run}#{first} was refused while another driver released the run: load the run again"
        )

    async def has_rows(self, con: Connection, rows: Sequence[Row]) -> bool:
        """Return whether exactly these records are stored, after a connection was lost before the confirmation."""
        sql = self._sql("SELECT seq, time, data FROM {s}.records WHERE run = $1 AND seq >= $2 ORDER BY seq")
        stored = await con.fetch(sql, rows[0].run, rows[0].seq)
        return [tuple(row) for row in stored] == [(row.seq, row.time, row.data.decode()) for row in rows]

    async def _insert_info(self, con: Connection, info: RunInfo) -> None:
        values = (
            info.run_id,
            info.parent,
            info.agent,
            info.model,
            info.question,
            info.conversation,
            info.user,
            info.status,
        )
        await con.execute(
            self._sql("""INSERT INTO {s}.runs(
                run, parent, agent, model, question, conversation, "user", status, stop_reason, created)
                VALUES($1, $2, $3, $4, $5, $6, $7, $8, '', $9)"""),
            *values,
            info.created,
        )

    async def load(self, con: Connection, run_id: str, after: int, salvage: bool) -> list[Record]:
        sql = self._sql(
            "SELECT seq, time, parent, schema, data, sum FROM {s}.records WHERE run = $1 AND seq > $2 ORDER BY seq"
        )
        rows = await con.fetch(sql, run_id, after)
        if not rows and not await con.fetchval(self._sql("SELECT 1 FROM {s}.records WHERE run = $1 LIMIT 1"), run_id):
            raise not_found(run_id)
        stored = [(*row[:4], row[4].encode(), row[5]) for row in map(tuple, rows)]
        keys = list({key for row in stored for key in references(row[4])})
        sql = self._sql("SELECT hash, data FROM {s}.contents WHERE hash = ANY($1::text[])")
        contents = {row[0]: row[1] for row in await con.fetch(sql, keys)} if keys else {}
        return from_rows(run_id, stored, after, salvage, contents.get)

    async def delete(self, con: Connection, run_id: str) -> None:
        async with con.transaction():
            rows = await con.fetch(
                self._sql("""WITH RECURSIVE tree(run) AS (SELECT $1 UNION
                    SELECT runs.run FROM {s}.runs JOIN tree ON runs.parent = tree.run AND runs.parent <> '')
                    SELECT run FROM tree"""),
                run_id,
            )
            tree = [row[0] for row in rows]
            for run in tree:
                if driver := await self._live_driver(con, run):
                    raise RunBusyError(f"run {run} is being driven by {driver}: cancel it first")
            if await con.execute(self._sql("DELETE FROM {s}.runs WHERE run = ANY($1::text[])"), tree) == "DELETE 0":
                raise not_found(run_id)
            for table in ("records", "inbox", "claims", *TABLES):
                await con.execute(self._sql(f"DELETE FROM {{s}}.{table} WHERE run = ANY($1::text[])"), tree)
            await self._forget_contents(con, tree)

    async def _forget_contents(self, con: Connection, runs: Sequence[str]) -> None:
        """Delete the contents that only these runs have."""
        await self._lock_contents(con)
        gone = await con.fetch(self._sql("DELETE FROM {s}.uses WHERE run = ANY($1::text[]) RETURNING hash"), runs)
        await con.execute(
            self._sql("""DELETE FROM {s}.contents WHERE hash = ANY($1::text[])
                AND NOT EXISTS (SELECT 1 FROM {s}.uses WHERE uses.hash = contents.hash)"""),
            [row[0] for row in gone],
        )

    # Claims

    async def claim(self, con: Connection, run_id: str, owner: str, process: ProcessIdentity) -> int:
        async with con.transaction():
            await con.execute(
                self._sql(
                    "INSERT INTO {s}.claims VALUES($1, 0, '', '', 0, '', clock_timestamp()) ON CONFLICT DO NOTHING"
                ),
                run_id,
            )
            driver = await self._live_driver(con, run_id)
            if driver and driver != owner:
                raise RunBusyError(f"run {run_id} is being driven by {driver}")
            await con.execute(self._sql("UPDATE {s}.inbox SET taken = false WHERE run = $1 AND taken"), run_id)
            return await con.fetchval(
                self._sql("""UPDATE {s}.claims SET epoch = epoch + 1, owner = $2, host = $3, pid = $4, started = $5,
                    until = clock_timestamp() + make_interval(secs => $6) WHERE run = $1 RETURNING epoch"""),
                run_id,
                owner,
                process.host,
                process.pid,
                process.started,
                self._lease,
            )

    async def _live_driver(self, con: Connection, run_id: str) -> str:
        """The owner of the claim, if alive. Locks the claim until the transaction ends: two claims never overlap."""
        sql = "SELECT owner, host, pid, started, until > clock_timestamp() FROM {s}.claims WHERE run = $1 FOR UPDATE"
        row = await con.fetchrow(self._sql(sql), run_id)
        if row is None or not row[0]:
            return ""
        owner, host, pid, started, in_lease = row
        alive = is_alive(ProcessIdentity(host, pid, started))
        return owner if (in_lease if alive is None else alive) else ""

    async def driven_runs(self, con: Connection) -> list[str]:
        """Return the runs that have a driver now."""
        sql = "SELECT run, host, pid, started, until > clock_timestamp() FROM {s}.claims WHERE owner <> ''"
        driven: list[str] = []
        for run, host, pid, started, in_lease in await con.fetch(self._sql(sql)):
            alive = is_alive(ProcessIdentity(host, pid, started))
            if in_lease if alive is None else alive:
                driven.append(run)
        return driven

    async def sign_of_life(self, con: Connection, run_id: str) -> bool | float:
        """Return whether the run has a driver; the remaining seconds of its lease if its process is on another machine.

        Only a renewal makes these seconds more.
        """
        sql = """SELECT owner, host, pid, started, extract(epoch FROM until - clock_timestamp())::float8
            FROM {s}.claims WHERE run = $1"""
        row = await con.fetchrow(self._sql(sql), run_id)
        if row is None or not row[0]:
            return False
        _owner, host, pid, started, left = row
        alive = is_alive(ProcessIdentity(host, pid, started))
        return alive if alive is not None else left if left > 0 else False

    async def release(self, con: Connection, run_id: str, owner: str) -> None:
        # The row stays, because the epoch of the next driver must be higher than all before it.
        await con.execute(self._sql("UPDATE {s}.claims SET owner = '' WHERE run = $1 AND owner = $2"), run_id, owner)

    async def release_all(self, con: Connection, epochs: Sequence[tuple[str, int]]) -> None:
        await con.executemany(self._sql("UPDATE {s}.claims SET owner = '' WHERE run = $1 AND epoch = $2"), epochs)

    async def renew_claims(self, con: Connection, epochs: Sequence[tuple[str, int]]) -> None:
        sql = (
            "UPDATE {s}.claims SET until = clock_timestamp() + make_interval(secs => $3) WHERE run = $1 AND epoch = $2"
        )
        await con.executemany(self._sql(sql), [(run, epoch, self._lease) for run, epoch in epochs])

    # Inbox

    async def put(self, con: Connection, item: InboxItem) -> None:
        payload = msgspec.json.encode(item.payload).decode()
        sql = self._sql("INSERT INTO {s}.inbox(run, id, kind, payload) VALUES($1, $2, $3, $4) ON CONFLICT DO NOTHING")
        await con.execute(sql, item.run_id, item.id, item.kind, payload)

    async def take(self, con: Connection, run_id: str, kinds: Sequence[str]) -> list[InboxItem]:
        rows = await con.fetch(
            self._sql("""UPDATE {s}.inbox SET taken = true WHERE run = $1 AND NOT taken
                AND (cardinality($2::text[]) = 0 OR kind = ANY($2::text[])) RETURNING n, id, kind, payload"""),
            run_id,
            list(kinds),
        )
        in_order = sorted(tuple(row) for row in rows)
        return [
            InboxItem(id, run_id, kind, msgspec.json.decode(payload, type=dict[str, object]))
            for _, id, kind, payload in in_order
        ]

    async def recall(self, con: Connection, run_id: str, item_id: str) -> bool:
        sql = self._sql("DELETE FROM {s}.inbox WHERE run = $1 AND id = $2 AND NOT taken")
        return await con.execute(sql, run_id, item_id) != "DELETE 0"
