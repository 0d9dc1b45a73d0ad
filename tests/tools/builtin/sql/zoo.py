"""A small database for the tests of the SQL tools, and the tools over one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from treadle._tools.base import Tool
from treadle._tools.builtin.sql.tool import sql

TABLES = """
CREATE TABLE animal(id INTEGER PRIMARY KEY, name TEXT NOT NULL, speed REAL);
CREATE TABLE race(animal INTEGER REFERENCES animal(id), place INTEGER);
INSERT INTO animal VALUES (1, 'tortoise', 0.3), (2, 'hare', 60.5);
INSERT INTO race VALUES (1, 1), (2, 2);
CREATE INDEX by_name ON animal(name);
CREATE VIEW winner AS SELECT name FROM animal JOIN race ON animal.id = race.animal WHERE place = 1;
"""


@cache  # the tests share a worker process: starting one takes longer than any query
def tools(url: Any, **options: Any) -> dict[str, Callable[..., Any]]:
    tools: list[Tool] = sql(url, **options)
    return {tool.name.removeprefix("sql_"): tool.execute for tool in tools}
