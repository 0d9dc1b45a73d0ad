"""SQL on SQLite: what it answers, and that reading is all it does; and what all SQL tools have in common."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kit import row
from tools.builtin.sql.zoo import TABLES, tools
from treadle._tools.builtin.sql.rows import Rows, Table
from treadle._tools.builtin.sql.tool import sql
from treadle._types.errors import ConfigError, ToolError


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("zoo"))


def filled(folder: Path) -> Path:
    path = folder / "zoo & co.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(TABLES)
    return path


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


def test_sqlite_reads_only(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(path.parent)
    before = contents(path)
    for query in WRITES:
        with row(query):
            with pytest.raises(ToolError):
                tools(path)["query"](query=query)
            assert contents(path) == before
            assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_sqlite_reading_is_not_hindered(path: Path):
    for query in (
        "SELECT count(*) FROM animal a, animal b",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT sum(i) FROM n",
        "VALUES (1), (2)",
        "EXPLAIN QUERY PLAN SELECT * FROM animal",
        "SELECT name FROM winner UNION SELECT upper(name) FROM animal",
        "SELECT json_extract('{\"a\": 1}', '$.a')",
        "/* a comment */ SELECT 1 -- and one more",
    ):
        assert tools(path)["query"](query=query).rows, query


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


def test_sqlite_stops_when_time_is_up(path: Path):
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
    for query in (
        f"{numbers}) SELECT i FROM n WHERE i < 0",
        f"{numbers} LIMIT 3000) SELECT count(*) FROM n a, n b, n c",
    ):
        with row(query), pytest.raises(ToolError, match=r"took longer than 0\.3 s"):
            tools(path, timeout=0.3)["query"](query=query)


def test_sqlite_values_do_not_grow_without_end(path: Path):
    for query in (
        "SELECT zeroblob(900000000)",
        "SELECT replace(hex(zeroblob(5000000)), '0', 'xxxxxxxxxxxxxxx')",
        "SELECT randomblob(100000000)",
    ):
        with row(query), pytest.raises(ToolError, match=r"too big|too large"):
            tools(path)["query"](query=query)


def test_effects(path: Path):
    assert [tool.effect for tool in sql(path)] == ["pure", "pure"]
    assert [tool.effect for tool in sql(path, read_only=False)] == ["unsafe", "pure"]
    assert [tool.name for tool in sql(path, name="zoo")] == ["zoo_query", "zoo_schema"]


def test_rows_and_cells_are_bounded(path: Path):
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) SELECT i, 'x' FROM n"
    rows = tools(path, max_rows=10)["query"](query=many)
    assert (len(rows.rows), rows.truncated) == (10, True)
    wide = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 90) "
        "SELECT hex(zeroblob(400000)), x'00ff' FROM n"
    )
    rows = tools(path)["query"](query=wide)
    assert rows.truncated
    assert sum(len(row[0]) for row in rows.rows) <= 41_000
    assert rows.rows[0][1] == "<2 bytes>"


def test_errors_say_what_is_wrong(path: Path, tmp_path: Path):
    with pytest.raises(ToolError, match="no such column: nmae"):
        tools(path)["query"](query="SELECT nmae FROM animal")
    with pytest.raises(ToolError, match="check that it exists"):
        tools(tmp_path / "none.db")["query"](query="SELECT 1")
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(ToolError, match="SQLite"):
        tools(path)["query"](query="SELECT '\0'")


def test_an_unknown_database():
    for url in ("mysql://x/y", "nothing", "", "https://x/y.txt"):
        with row(url), pytest.raises(ConfigError, match="names no supported database"):
            sql(url)
