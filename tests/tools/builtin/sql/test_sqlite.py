"""SQL on SQLite: what it answers, and that reading is all it does."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from treadle._tools.base import Tool
from treadle._tools.builtin.sql.rows import Rows, Table
from treadle._tools.builtin.sql.tool import sql
from treadle._types.errors import ToolError

TABLES = """
CREATE TABLE animal(id INTEGER PRIMARY KEY, name TEXT NOT NULL, speed REAL);
CREATE TABLE race(animal INTEGER REFERENCES animal(id), place INTEGER);
INSERT INTO animal VALUES (1, 'tortoise', 0.3), (2, 'hare', 60.5);
INSERT INTO race VALUES (1, 1), (2, 2);
CREATE INDEX by_name ON animal(name);
CREATE VIEW winner AS SELECT name FROM animal JOIN race ON animal.id = race.animal WHERE place = 1;
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("zoo"))


def filled(folder: Path) -> Path:
    path = folder / "zoo & co.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(TABLES)
    return path


@cache  # the tests share a worker process
def tools(url: Any, **options: Any) -> dict[str, Callable[..., Any]]:
    tools: list[Tool] = sql(url, **options)
    return {tool.name.removeprefix("sql_"): tool.execute for tool in tools}


def test_sqlite_answers(path: Path):
    for url in (path, str(path), f"sqlite:///{path}"):
        rows = tools(url)["query"](query="SELECT name, speed FROM animal ORDER BY id;")
        assert rows == Rows(("name", "speed"), (("tortoise", 0.3), ("hare", 60.5)))


def test_sqlite_schema(path: Path):
    schema = tools(path)["schema"]
    assert schema().tables == (
        Table("animal", ("id INTEGER PRIMARY KEY", "name TEXT NOT NULL", "speed REAL")),
        Table("race", ("animal INTEGER REFERENCES animal(id)", "place INTEGER")),
        Table("winner", ("name TEXT",), "view"),
    )
    assert [table.name for table in schema(table="RACE").tables] == ["race"]
    with pytest.raises(ToolError, match=r"there is no table 'x'; expected one of: animal, race, winner"):
        schema(table="x")


WRITES = [
    "INSERT INTO animal VALUES (3, 'x', 1)",
    "UPDATE animal SET name = 'x'",
    "DELETE FROM animal",
    "DROP TABLE animal",
    "CREATE TABLE t(a)",
    "CREATE TEMP TABLE t(a)",
    "CREATE VIEW v AS SELECT 1",
    "CREATE TRIGGER t AFTER INSERT ON race BEGIN DELETE FROM animal; END",
    "ALTER TABLE animal ADD COLUMN x",
    "REPLACE INTO animal VALUES (1, 'x', 1)",
    "WITH x AS (SELECT 1) DELETE FROM animal",
    "WITH x AS (SELECT 1) INSERT INTO animal SELECT 9, 'x', 1 FROM x RETURNING *",
    "SELECT 1; DELETE FROM animal",
    "SELECT 1;\n--\nDROP TABLE animal;",
    "PRAGMA writable_schema = ON",
    "PRAGMA query_only = OFF",
    "PRAGMA journal_mode = WAL",
    "PRAGMA user_version = 5",
    "PRAGMA table_info(animal)",
    "SELECT * FROM pragma_query_only",
    "ATTACH 'other.db' AS o",
    "ATTACH ':memory:' AS o",
    "ATTACH '/etc/passwd' AS o",
    "DETACH main",
    "VACUUM",
    "VACUUM INTO 'copy.db'",
    "REINDEX",
    "ANALYZE",
    "BEGIN IMMEDIATE",
    "BEGIN; DELETE FROM animal; COMMIT",
    "COMMIT",
    "SAVEPOINT s",
    "SELECT load_extension('x.so')",
    "SELECT LOAD_EXTENSION('x.so', 'y')",
    "SELECT writefile('x', 'y')",
    "SELECT readfile('/etc/passwd')",
    "SELECT fts3_tokenizer('simple', x'00')",
    "EXPLAIN DELETE FROM animal",
]


def contents(path: Path) -> list[Any]:
    with closing(sqlite3.connect(path)) as db:
        return [db.execute("SELECT * FROM animal").fetchall(), db.execute("SELECT sql FROM sqlite_master").fetchall()]


@pytest.mark.parametrize("query", WRITES)
def test_sqlite_reads_only(path: Path, query: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(path.parent)
    before = contents(path)
    with pytest.raises(ToolError):
        tools(path)["query"](query=query)
    assert contents(path) == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM animal a, animal b",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT sum(i) FROM n",
        "VALUES (1), (2)",
        "EXPLAIN QUERY PLAN SELECT * FROM animal",
        "SELECT name FROM winner UNION SELECT upper(name) FROM animal",
        "SELECT json_extract('{\"a\": 1}', '$.a')",
        "/* a comment */ SELECT 1 -- and one more",
    ],
)
def test_sqlite_reading_is_not_hindered(path: Path, query: str):
    assert tools(path)["query"](query=query).rows


def test_sqlite_writes_when_told(tmp_path: Path):
    query = tools(filled(tmp_path), read_only=False)["query"]
    assert query(query="INSERT INTO animal VALUES (3, 'snail', 0.01), (4, 'x', 1)").changed == 2
    assert query(query="SELECT count(*) FROM animal").rows == ((4,),)
    for statement in (
        "ATTACH 'o.db' AS o",
        "PRAGMA writable_schema = ON",
        "SELECT load_extension('x')",
        "SELECT 1; DELETE FROM animal",
    ):
        with pytest.raises(ToolError):
            query(query=statement)


@pytest.mark.parametrize(
    "query",
    [
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000) SELECT count(*) FROM n a, n b, n c",
    ],
)
def test_sqlite_stops_when_time_is_up(path: Path, query: str):
    with pytest.raises(ToolError, match=r"took longer than 0\.3 s"):
        tools(path, timeout=0.3)["query"](query=query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT zeroblob(900000000)",
        "SELECT replace(hex(zeroblob(5000000)), '0', 'xxxxxxxxxxxxxxx')",
        "SELECT randomblob(100000000)",
    ],
)
def test_sqlite_values_do_not_grow_without_end(path: Path, query: str):
    with pytest.raises(ToolError, match=r"too big|too large"):
        tools(path)["query"](query=query)
