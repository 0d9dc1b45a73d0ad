"""SQL on DuckDB: what it answers, and that reading is all it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit import row
from tools.builtin.sql.zoo import TABLES, tools
from treadle._types.errors import ToolError


@pytest.fixture(scope="module")
def duck(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("zoo"))


def filled(folder: Path) -> Path:
    duckdb = pytest.importorskip("duckdb")
    path = folder / "zoo.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute(TABLES)
    return path


def test_duckdb_answers(duck: Path):
    for url in (duck, f"duckdb:///{duck}"):
        query, schema = tools(url)["query"], tools(url)["schema"]
        assert query(query="SELECT name, speed FROM animal ORDER BY id").rows == (
            ("tortoise", pytest.approx(0.3)),
            ("hare", 60.5),
        )
        assert query(query="SUMMARIZE animal").rows
        assert [table.name for table in schema().tables] == ["animal", "race", "winner"]
        assert schema(table="animal").tables[0].columns[0] == "id INTEGER NOT NULL"


DUCK_WRITES = [
    "INSERT INTO animal VALUES (3, 'x', 1)",
    "UPDATE animal SET name = 'x'",
    "DROP TABLE animal",
    "CREATE TABLE t(a INT)",
    "CREATE TEMP TABLE t(a INT)",
    "WITH x AS (SELECT 1) INSERT INTO animal SELECT 9, 'x', 1 FROM x",
    "SELECT 1; DELETE FROM animal",
    "COPY animal TO 'out.csv'",
    "COPY (SELECT 1) TO '/tmp/x.csv'",
    "EXPLAIN ANALYZE DELETE FROM animal",
    "EXPORT DATABASE 'dump'",
    "ATTACH 'other.duckdb'",
    "ATTACH ':memory:' AS m",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "PRAGMA enable_profiling",
    "CALL pragma_version()",
    "BEGIN",
    "CHECKPOINT",
    "VACUUM",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM read_parquet('http://127.0.0.1:1/x')",
    "SELECT * FROM sqlite_scan('x.db', 't')",
    "SELECT * FROM duck",
    "SELECT * FROM query('DROP TABLE animal')",
    "SELECT getenv('HOME')",
    "",
]


def test_duckdb_reads_only(duck: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(duck.parent)
    for query in DUCK_WRITES:
        with row(query):
            with pytest.raises(ToolError):
                tools(duck)["query"](query=query)
            assert [file.name for file in duck.parent.iterdir()] == [duck.name]
    assert tools(duck)["query"](query="SELECT count(*) FROM animal").rows == ((2,),)


def test_duckdb_reads_files_below_allowed_folders(tmp_path: Path):
    pytest.importorskip("duckdb")
    data = tmp_path / "data"
    data.mkdir()
    (data / "a.csv").write_text("name,age\nada,36\n")
    (tmp_path / "secret.csv").write_text("x\n1\n")
    query = tools("duckdb://", allow_folders=(str(data),))["query"]
    assert query(query=f"SELECT * FROM '{data / 'a.csv'}'").rows == (("ada", 36),)
    for statement in (
        f"SELECT * FROM '{tmp_path / 'secret.csv'}'",
        f"SELECT * FROM '{data}/../secret.csv'",
        f"COPY (SELECT 1) TO '{data / 'out.csv'}'",
    ):
        with pytest.raises(ToolError):
            query(query=statement)
    assert [file.name for file in data.iterdir()] == ["a.csv"]


def test_duckdb_writes_when_told(tmp_path: Path):
    query = tools(filled(tmp_path), read_only=False)["query"]
    query(query="INSERT INTO animal VALUES (3, 'snail', 0.01)")
    assert query(query="SELECT count(*) FROM animal").rows == ((3,),)
    with pytest.raises(ToolError):
        query(query="COPY animal TO 'out.csv'")


def test_duckdb_stops_when_time_is_up(duck: Path):
    with pytest.raises(ToolError, match="took longer"):
        tools(duck, timeout=0.3)["query"](
            query="SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range = 7"
        )


def test_duckdb_values_of_all_kinds(duck: Path):
    big = 170141183460469231731687303715884105727
    values = f"DATE '2026-01-02', 1.50::DECIMAL(5,2), 'x'::BLOB, [1, 2], {{'a': 1}}, 'nan'::DOUBLE, {big}, NULL, true"
    rows = tools(duck)["query"](query=f"SELECT {values}")
    assert rows.rows == (("2026-01-02", "1.50", "<1 bytes>", "[1, 2]", "{'a': 1}", "nan", big, None, True),)
