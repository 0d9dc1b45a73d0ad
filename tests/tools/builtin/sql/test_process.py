"""Queries run in a process that is kept, limited, and killed: what a database does not stop by itself is stopped."""

from __future__ import annotations

import gc
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from processes import is_running
from treadle._tools.base import Tool
from treadle._tools.builtin.sql.process import WorkerDatabase
from treadle._tools.builtin.sql.rows import Limits, Rows, Schema
from treadle._tools.builtin.sql.tool import sql
from treadle._tools.builtin.sql.worker import Question, answer
from treadle._types.errors import ToolError
from waiting import eventually

ENDLESS = "SELECT " + ", ".join(["instr(zeroblob(9000000), zeroblob(4500000) || x'01')"] * 200)
"""Each of these takes seconds inside of one step of SQLite, which looks at the clock between steps only."""
ENDLESS_DUCKDB = "SELECT " + " + ".join(f"length(repeat('x', {30_000_000 + number}))" for number in range(500))
"""Constants are computed while the query is planned, where it does not look at the clock at all."""
MANY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200) "


def wide(columns: int) -> str:
    return "SELECT " + ", ".join(["zeroblob(9000000)"] * columns)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "zoo.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript("CREATE TABLE animal(name); INSERT INTO animal VALUES ('hare');")
    return path


def query_tool(url: Any, **options: Any) -> Tool:
    return sql(url, **options)[0]


def process_of(tool: Tool) -> WorkerDatabase:
    return tool.execute.__self__  # type: ignore[attr-defined]


def waiting_pids(tool: Tool) -> list[int]:
    return [worker._process.pid for worker in process_of(tool)._idle]


def cpu_ticks(pid: int) -> int:
    """What the process has worked so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_a_query_that_sqlite_does_not_interrupt_is_killed(path: Path):
    tool = query_tool(path, timeout=0.5)
    with pytest.raises(ToolError, match=r"took longer than 0\.5 s: simplify it or ask for less data"):
        tool(query=ENDLESS)
    assert waiting_pids(tool) == []
    assert tool(query="SELECT name FROM animal").rows == (("hare",),)


def test_a_killed_statement_may_have_changed_data(path: Path):
    with pytest.raises(ToolError, match=r"took longer than 0\.5 s.* may have changed data"):
        query_tool(path, timeout=0.5, read_only=False)(query=ENDLESS)


def test_wide_rows_are_not_collected(path: Path):
    """With 40 columns, 200 rows would be 72 GB. They are taken one by one, and each is within the limit or refused."""
    rows: Rows = query_tool(path, timeout=100, max_rows=4, memory=300 * 2**20)(query=f"{MANY}{wide(10)} FROM n")
    assert (len(rows.rows), rows.truncated, rows.rows[0][0]) == (4, True, "<9000000 bytes>")
    with pytest.raises(ToolError, match=r"needs more than 300 MB of memory"):
        query_tool(path, timeout=100, memory=300 * 2**20)(query=f"{MANY}{wide(40)} FROM n")


def test_a_sort_does_not_fill_the_disk(path: Path):
    sort = f"{MANY}SELECT i, randomblob(9000000) AS b FROM n ORDER BY b"
    with pytest.raises(ToolError, match=r"at most 100 MB of temporary files"):
        query_tool(path, timeout=100, memory=100 * 2**20)(query=sort)


def test_a_query_that_duckdb_does_not_interrupt_is_killed():
    pytest.importorskip("duckdb")
    tool = query_tool("duckdb://", timeout=2)
    with pytest.raises(ToolError, match="took longer than 2 s"):
        tool(query=ENDLESS_DUCKDB)
    assert tool(query="SELECT 1").rows == ((1,),)


@pytest.mark.parametrize("query", ["SELECT repeat('x', 4000000000)", "SELECT list(range) FROM range(400000000)"])
def test_duckdb_has_little_memory(query: str):
    pytest.importorskip("duckdb")
    with pytest.raises(ToolError, match=r"(?i)memory"):
        query_tool("duckdb://", timeout=100, memory=300 * 2**20)(query=query)


def test_one_process_serves_query_after_query(path: Path):
    query, schema = sql(path)
    for _ in range(3):
        assert query(query="SELECT name FROM animal").rows == (("hare",),)
    (pid,) = waiting_pids(query)
    assert schema().tables[0].name == "animal"
    with pytest.raises(ToolError, match="no such column"):
        query(query="SELECT nmae FROM animal")
    assert waiting_pids(query) == [pid]


def test_several_at_the_same_time_and_two_are_kept(path: Path):
    tool = query_tool(path, timeout=100)
    # Each counts for so long that the others are started meanwhile; how long does not matter.
    count = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000) SELECT count(*) FROM n"
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(tool(query=count).rows)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [((100000,),)] * 4
    assert 1 <= len(waiting_pids(tool)) <= 2


def test_a_process_that_was_killed_meanwhile_is_replaced(path: Path):
    tool = query_tool(path)
    tool(query="SELECT 1")
    (pid,) = waiting_pids(tool)
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not is_running(pid), "the process ends")
    assert tool(query="SELECT 2").rows == ((2,),)
    assert waiting_pids(tool) != [pid]


def test_a_process_that_dies_in_the_middle_is_named(path: Path):
    tool = query_tool(path, timeout=100)
    tool(query="SELECT 1")
    (pid,) = waiting_pids(tool)
    errors: list[str] = []

    def ask() -> None:
        try:
            tool(query=ENDLESS)
        except ToolError as error:
            errors.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    idle = cpu_ticks(pid)
    eventually(lambda: cpu_ticks(pid) > idle + 5, "the process works on the query")
    os.kill(pid, signal.SIGKILL)
    thread.join()
    assert errors == [
        "the query was stopped: its process ended (signal 9), most likely because it needed more than 1024 MB of "
        "memory: ask for fewer or smaller values"
    ]


def test_it_ends_with_the_tool(path: Path):
    tool = query_tool(path)
    tool(query="SELECT 1")
    (pid,) = waiting_pids(tool)
    del tool
    gc.collect()
    eventually(lambda: not is_running(pid), "the process ends with the tool")


@pytest.mark.parametrize("when", ["idle", "in a query"])
def test_it_does_not_outlive_a_process_that_was_killed(path: Path, when: str):
    program = f"""
        import threading
        from treadle._tools.builtin.sql.tool import sql
        tool = sql({str(path)!r}, timeout=1)[0]
        tool(query="SELECT 1")
        (worker,) = tool.execute.__self__._idle
        if {when == "in a query"}:
            threading.Thread(target=lambda: tool(query={ENDLESS!r}), daemon=True).start()
            while tool.execute.__self__._idle:
                pass
        print(worker._process.pid, flush=True)
        threading.Event().wait()
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        parent.kill()
    eventually(lambda: not is_running(pid), "the worker ends")


def test_a_relative_path_is_the_one_at_the_time_the_tool_was_made(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(path.parent)
    tool = query_tool(path.name)
    monkeypatch.chdir("/")
    assert tool(query="SELECT name FROM animal").rows == (("hare",),)


LIMITS = Limits(max_rows=5, timeout=1.0, read_only=True, memory=2**20)


class Failing:
    dialect = "Toy"

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def query(self, query: str) -> Rows:
        raise self._error

    def schema(self, table: str = "") -> Schema:
        return Schema(())


def test_every_failure_is_an_answer():
    question = Question("query", "SELECT 1")
    assert answer(Failing(ToolError("refused")), question, LIMITS).error == "refused"
    assert answer(Failing(KeyError("x")), question, LIMITS).error == "Toy: KeyError: 'x'"
    full = answer(Failing(MemoryError()), question, LIMITS)
    assert full.error == "the query needs more than 1 MB of memory: ask for fewer or smaller values"
    assert full.last
    assert answer(Failing(KeyError()), Question("schema", ""), LIMITS).schema == Schema(())
