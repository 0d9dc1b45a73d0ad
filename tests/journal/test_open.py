"""Which name opens which journal, and how runs travel."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from treadle._journal import open_journal
from treadle._journal.export import export_run, import_run
from treadle._journal.memory import MemoryJournal
from treadle._journal.postgres import PostgresJournal
from treadle._journal.sqlite import SqliteJournal
from treadle._types.errors import JournalError, RunNotFoundError
from treadle._types.paths import state_folder

from .logs import log


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ("runs.db", "runs.db"),
        (Path("some") / "runs.db", "some/runs.db"),
        ("sqlite:///runs.db", "runs.db"),
        ("sqlite:////var/lib/runs.db", "/var/lib/runs.db"),
        ("sqlite:///C:/runs.db", "C:/runs.db"),
    ],
)
def test_paths_and_sqlite_addresses(spec: str | Path, path: str):
    journal = open_journal(spec)
    assert isinstance(journal, SqliteJournal)
    assert journal.path == Path(path)


@pytest.mark.parametrize("spec", [None, "", "sqlite:", "sqlite:///"])
def test_no_name_is_the_users_own_file(spec: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("TREADLE_STATE", str(tmp_path))
    journal = open_journal(spec)
    assert isinstance(journal, SqliteJournal)
    assert journal.path == tmp_path / "journal.db"


def test_other_names():
    for name in ("memory:", ":memory:"):
        assert isinstance(open_journal(name), MemoryJournal)
    for address in ("postgres://me@host/db", "postgresql://me@host/db"):
        assert isinstance(open_journal(address), PostgresJournal)
    journal = MemoryJournal()
    assert open_journal(journal) is journal


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the XDG place")
def test_the_state_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("TREADLE_STATE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_folder() == tmp_path / "treadle"
    monkeypatch.delenv("XDG_STATE_HOME")
    assert state_folder() == Path.home() / ".local" / "state" / "treadle"


def test_a_run_moves_from_one_kind_of_journal_to_another(tmp_path: Path):
    async def main() -> None:
        memory, file = MemoryJournal(), SqliteJournal(tmp_path / "journal.db")
        await memory.append(log("a", 50))
        data = await export_run(memory, "a")
        assert await import_run(file, data) == "a"
        assert await file.load("a") == await memory.load("a")
        assert await export_run(file, "a") == data
        await file.aclose()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: [], "not an exported run"),
        (lambda lines: [b"{}"], "not an exported run"),
        (lambda lines: [lines[0].replace(b"treadle-run", b"other"), *lines[1:]], "'other'"),
        (lambda lines: lines[:1], "no records"),
        (lambda lines: [*lines[:3], lines[3][:20], *lines[4:]], "line 4"),
        (lambda lines: [*lines[:3], *lines[4:]], "a#3 cannot follow a#1"),
        (lambda lines: [lines[0], *lines[2:]], "the log ends at #-1"),
    ],
    ids=["empty", "no header", "other format", "no records", "torn line", "missing line", "missing start"],
)  # fmt: skip
def test_what_is_no_exported_run_is_refused_as_a_whole(change, message: str):  # pyright: ignore
    async def main() -> None:
        source, target = MemoryJournal(), MemoryJournal()
        await source.append(log("a"))
        lines = (await export_run(source, "a")).splitlines()
        with pytest.raises(JournalError, match=message):
            await import_run(target, b"\n".join(change(lines)))
        with pytest.raises(RunNotFoundError):
            await target.load("a")

    asyncio.run(main())


def test_a_failed_import_leaves_nothing_behind():
    async def main() -> None:
        source, target = MemoryJournal(), MemoryJournal()
        await source.append(log("a"))
        await source.append(log("b", parent="a"))
        lines = (await export_run(source, "a")).splitlines()
        with pytest.raises(JournalError):
            await import_run(target, b"\n".join(lines[:-2] + lines[-1:]))
        assert await target.list() == []

    asyncio.run(main())
