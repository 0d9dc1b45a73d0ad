"""The process in which queries run: the one who started it can end a query whatever it does, and its memory is limited.

It reads one line of JSON with the database, then one for each query, and answers each with a line.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from contextlib import suppress
from typing import Literal

import msgspec
from msgspec import Struct

from treadle._tools.builtin.sql.rows import Database, Limits, Rows, Schema
from treadle._types.errors import ToolError

Kind = Literal["sqlite", "duckdb", "postgres"]


class Source(Struct, frozen=True):
    """Which database, and how it may be used."""

    kind: Kind
    location: str
    """The path of a file, or the url of a server."""
    limits: Limits
    allow_folders: tuple[str, ...] = ()
    allow_superuser: bool = False


def open_database(source: Source) -> Database:
    if source.kind == "sqlite":
        from treadle._tools.builtin.sql.sqlite import Sqlite

        return Sqlite(source.location, source.limits)
    if source.kind == "duckdb":
        from treadle._tools.builtin.sql.duckdb import DuckDb

        return DuckDb(source.location, source.limits, source.allow_folders)
    from treadle._tools.builtin.sql.postgres import Postgres

    return Postgres(source.location, source.limits, source.allow_superuser)


GRACE_SECONDS = 0.25
"""How long after its own time limit a query may take to end by itself; then its process is killed."""
_DRIVERS = {"sqlite": "sqlite3", "duckdb": "duckdb", "postgres": "psycopg"}


class Question(Struct, frozen=True):
    method: Literal["query", "schema"]
    argument: str


class Answer(Struct, frozen=True, omit_defaults=True):
    rows: Rows | None = None
    schema: Schema | None = None
    error: str = ""
    last: bool = False
    """The process ends after it."""


def answer(database: Database, question: Question, limits: Limits) -> Answer:
    try:
        if question.method == "query":
            return Answer(rows=database.query(question.argument))
        return Answer(schema=database.schema(question.argument))
    except ToolError as error:
        return Answer(error=str(error))
    except MemoryError:
        return Answer(error=limits.too_large, last=True)  # who knows what is half done in it
    except Exception as error:
        return Answer(error=f"{database.dialect}: {type(error).__name__}: {str(error)[:500]}")


def limit_memory(limits: Limits) -> None:
    """Beyond what is used now. Files count too: a sort that does not fit spills into one."""
    try:
        import resource
    except ImportError:  # Windows: the time is limited only
        return
    values = {resource.RLIMIT_DATA: _data_bytes() + limits.memory, resource.RLIMIT_CORE: 0}
    if limits.read_only:
        values[resource.RLIMIT_FSIZE] = limits.memory
    for kind, value in values.items():
        with suppress(ValueError, OSError):
            _, most = resource.getrlimit(kind)
            value = value if most == resource.RLIM_INFINITY else min(value, most)
            resource.setrlimit(kind, (value, value))


def _data_bytes() -> int:
    with suppress(OSError), open("/proc/self/status", encoding="utf-8") as status:
        for line in status:
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    return 0


def _die_in(seconds: float) -> None:
    """The kernel ends this process then, also in the middle of a library's loop; 0 calls it off.

    Normally who asked is faster. But that process may have been killed itself.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def main() -> None:
    # Ctrl-C reaches all processes of the group; the one that started this one decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    questions = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    source = msgspec.json.decode(questions.readline(), type=Source)
    importlib.import_module(_DRIVERS[source.kind])
    database = open_database(source)
    limit_memory(source.limits)
    answers.write(b"\n")
    answers.flush()
    for line in questions:
        _die_in(source.limits.timeout + 2 * GRACE_SECONDS)
        reply = answer(database, msgspec.json.decode(line, type=Question), source.limits)
        answers.write(msgspec.json.encode(reply) + b"\n")
        answers.flush()
        _die_in(0)
        if reply.last:
            return


if __name__ == "__main__":
    main()
