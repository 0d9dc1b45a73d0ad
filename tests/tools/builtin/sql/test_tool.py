"""What the SQL tools have in common: effects, limits, errors."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from treadle._tools.base import Tool
from treadle._tools.builtin.sql.tool import sql
from treadle._types.errors import ConfigError, ToolError

TABLES = """
CREATE TABLE animal(id INTEGER PRIMARY KEY, name TEXT NOT NULL, speed REAL);
CREATE TABLE race(animal INTEGER REFERENCES animal(id), place INTEGER);
INSERT INTO animal VALUES (1, 'tortoise', 0.3), (2, 'hare', 60.5);
INSERT INTO race VALUES (1, 1), (2, 2);
CREATE INDEX by_name ON animal(name);
CREATE VIEW winner AS SELECT name FROM animal JOIN race ON animal.id = race.animal WHERE place = 1;
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "zoo & co.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(TABLES)
    return path


def tools(url: Any, **options: Any) -> dict[str, Callable[..., Any]]:
    tools: list[Tool] = sql(url, **options)
    return {tool.name.removeprefix("sql_"): tool.execute for tool in tools}


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


@pytest.mark.parametrize("url", ["mysql://x/y", "nothing", "", "https://x/y.txt"])
def test_an_unknown_database(url: str):
    with pytest.raises(ConfigError, match="names no supported database"):
        sql(url)
