"""The SQLite journal: the contract, many runs in one file, full disks, permissions."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from treadle._journal import sqlite_store
from treadle._journal.sqlite import SqliteJournal
from treadle._types.errors import CorruptLogError, JournalError, RunNotFoundError

from .contract import PICTURE, JournalContract, Make, with_files
from .logs import done, log, started


class TestContract(JournalContract):
    @pytest.fixture(params=["NORMAL", "FULL"])
    def make(self, tmp_path: Path, request: pytest.FixtureRequest) -> Make:
        return lambda: SqliteJournal(tmp_path / "journal.db", synchronous=request.param)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


async def test_a_content_is_stored_once_and_outside_of_the_rows(path: Path):
    journal = SqliteJournal(path)
    await journal.append(with_files("a"))
    await journal.append(with_files("b"))
    assert counts(path) == (1, 2)
    await journal.delete("a")
    assert counts(path) == (1, 1)
    await journal.delete("b")
    assert counts(path) == (0, 0)
    await journal.aclose()


def counts(path: Path) -> tuple[int, int]:
    con = sqlite3.connect(path)
    rows = [data for (data,) in con.execute("SELECT data FROM records")]
    assert not any(PICTURE in data for data in rows)
    (contents,) = con.execute("SELECT count(*) FROM contents").fetchone()
    (uses,) = con.execute("SELECT count(*) FROM uses").fetchone()
    con.close()
    return contents, uses


async def test_a_damaged_content_is_a_damaged_record(path: Path):
    journal = SqliteJournal(path)
    await journal.append(with_files("a"))
    con = sqlite3.connect(path)
    con.execute("UPDATE contents SET data = x'00'")
    con.commit()
    con.close()
    with pytest.raises(CorruptLogError, match=r"record a#0 cannot be read: the content \w+ of p.png is missing"):
        await journal.load("a")
    assert await journal.load("a", salvage=True) == []
    await journal.aclose()


async def closed(path: Path) -> None:
    journal = SqliteJournal(path)
    await journal.append(log("a"))
    await journal.aclose()


async def test_a_hundred_runs_at_once(path: Path):
    journal = SqliteJournal(path)

    async def one(run: str) -> None:
        for item in log(run, 22):
            await journal.append([item])
            await asyncio.sleep(0)

    await asyncio.gather(*(one(f"r{n}") for n in range(100)))
    for n in range(100):
        assert len(await journal.load(f"r{n}")) == 25
    await journal.aclose()


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "tiny"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    if sys.platform != "linux" or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("cannot mount a small file system here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


async def fill_until_it_fails(journal: SqliteJournal, run: str = "a") -> int:
    await journal.append([started(run)])
    for seq in range(1, 1000):
        try:
            await journal.append([done(run, seq, "x" * 4000)])
        except JournalError:
            with pytest.raises(JournalError, match=r"disk is full.*resume"):
                await journal.append([done(run, seq, "x" * 4000)])
            return seq
    raise AssertionError("it never got full")


async def test_a_full_disk_stops_the_run_and_keeps_the_log(tiny_disk: Path):
    ballast = tiny_disk / "ballast"
    ballast.write_bytes(bytes(100_000))
    journal = SqliteJournal(tiny_disk / "journal.db")
    stored = await fill_until_it_fails(journal)
    assert len(await journal.load("a")) == stored
    ballast.unlink()
    await journal.append([done("a", stored)])
    assert len(await journal.load("a")) == stored + 1
    await journal.aclose()


@pytest.mark.parametrize("synchronous", ["NORMAL", "FULL"])
async def test_a_full_database_stops_the_run_and_keeps_the_log(
    path: Path, synchronous: str, monkeypatch: pytest.MonkeyPatch
):
    prepare = sqlite_store.prepare

    def small(con: sqlite3.Connection, synchronous: str) -> None:
        prepare(con, synchronous)
        con.execute("PRAGMA max_page_count = 60")

    monkeypatch.setattr(sqlite_store, "prepare", small)
    journal = SqliteJournal(path, synchronous=synchronous)  # pyright: ignore
    stored = await fill_until_it_fails(journal)
    assert [r.seq for r in await journal.load("a")] == list(range(stored))
    await journal.aclose()


def test_a_read_only_journal_reads_and_does_not_write(path: Path):
    asyncio.run(closed(path))
    before = path.read_bytes()

    async def main() -> None:
        journal = SqliteJournal(path, read_only=True)
        assert len(await journal.load("a")) == 6
        assert len(await journal.list()) == 1
        for work in (journal.append([started("b")]), journal.claim("a", "me"), journal.delete("a")):
            with pytest.raises(JournalError, match="reading only"):
                await work
        await journal.aclose()

    asyncio.run(main())
    assert path.read_bytes() == before


def test_a_file_that_cannot_be_written_says_what_to_do(path: Path, monkeypatch: pytest.MonkeyPatch):
    # As root no file is read-only by its mode: SQLite is told to open it so.
    connect = sqlite_store.connect
    asyncio.run(closed(path))
    monkeypatch.setattr(sqlite_store, "connect", lambda path, **options: connect(path, **options | {"read_only": True}))  # pyright: ignore

    async def main() -> None:
        journal = SqliteJournal(path)
        with pytest.raises(JournalError, match=r"cannot be written.*permissions"):
            await journal.append([started("b")])
        await journal.aclose()

    asyncio.run(main())


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="modes do not bind root")
async def test_a_folder_that_cannot_be_written_says_what_to_do(tmp_path: Path):
    tmp_path.chmod(0o500)
    with pytest.raises(JournalError, match="cannot be created"):
        await SqliteJournal(tmp_path / "journal.db").append([started("a")])


async def test_an_impossible_path_says_what_to_do(tmp_path: Path):
    journal = SqliteJournal(tmp_path)
    with pytest.raises(JournalError, match="give it another path"):
        await journal.append([started("a")])
    await journal.aclose()


@pytest.mark.skipif(sys.platform == "win32", reason="modes are a Unix thing")
async def test_the_default_file_is_private_and_can_be_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TREADLE_STATE", str(tmp_path / "deep" / "state"))
    journal = SqliteJournal()
    assert journal.path == tmp_path / "deep" / "state" / "journal.db"
    assert not journal.path.parent.exists(), "nothing happens before it is used"
    await journal.append([started("a")])
    for file in journal.path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    assert stat.S_IMODE(journal.path.parent.stat().st_mode) == 0o700
    await journal.aclose()


def test_any_file_name_will_do(tmp_path: Path):
    path = tmp_path / "my runs #1 100%?.db" if sys.platform != "win32" else tmp_path / "my runs #1 100%.db"
    asyncio.run(closed(path))
    assert path.stat().st_size > 0


async def test_flipped_bytes_are_said_to_be_damage_and_the_rest_is_read(tmp_path: Path):
    """Whatever is damaged, nothing but an error of ours comes of it; what is intact is loaded."""
    whole = tmp_path / "whole.db"

    async def written() -> None:
        journal = SqliteJournal(whole)
        for run in "abc":
            await journal.append(log(run))
            await journal.annotate(run, note="a note", tags=["tag"])
        await journal.aclose()

    def damaged(seed: int) -> Path:
        changed, data, path = random.Random(seed), bytearray(whole.read_bytes()), tmp_path / f"{seed}.db"
        for _ in range(changed.choice((1, 3, 30))):
            data[changed.randrange(100, len(data))] = changed.randrange(256)
        path.write_bytes(data)
        return path

    async def read(path: Path) -> int:
        journal, salvaged = SqliteJournal(path, read_only=True), 0
        for run in "abc":
            for work in (journal.list(), journal.info(run), journal.load(run), journal.overview()):
                with suppress(JournalError):
                    await work
            with suppress(CorruptLogError, RunNotFoundError):
                salvaged += len(await journal.load(run, salvage=True))
        await journal.aclose()
        return salvaged

    await written()
    counts = [await read(damaged(seed)) for seed in range(40)]
    assert sum(counts) > 40, "most of the records are read"


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    "code",
    [
        "CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM records; END",
        "CREATE VIEW v AS SELECT * FROM records",
    ],
)
async def test_code_in_a_file_from_somebody_else_does_not_run(tmp_path: Path, code: str, read_only: bool):
    path = tmp_path / "journal.db"
    journal = SqliteJournal(path)
    await journal.append(log("a"))
    await journal.aclose()
    with closing(sqlite3.connect(path)) as con:
        con.execute(code)
        con.commit()
    foreign = SqliteJournal(path, read_only=read_only)
    with pytest.raises(JournalError, match=r"has the (trigger 't'|view 'v'), which no journal has"):
        await foreign.load("a")
    await foreign.aclose()
