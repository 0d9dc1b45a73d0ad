"""`open_journal`: which name opens which journal."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from treadle._journal import anchored, open_journal
from treadle._journal.memory import MemoryJournal
from treadle._journal.postgres import PostgresJournal
from treadle._journal.sqlite import SqliteJournal
from treadle._types.errors import ConfigError
from treadle._types.paths import state_folder


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
def test_paths_and_sqlite_addresses(spec: str | Path, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path(path).parent.mkdir(exist_ok=True)
    journal = open_journal(spec)
    assert isinstance(journal, SqliteJournal)
    assert journal.path == Path(path)


def test_a_mistyped_folder_is_refused_and_not_made(tmp_path: Path):
    with pytest.raises(ConfigError, match="there is no folder"):
        open_journal(tmp_path / "nowhere" / "runs.db")
    assert not (tmp_path / "nowhere").exists()


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


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the folder of XDG systems")
def test_the_state_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("TREADLE_STATE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_folder() == tmp_path / "treadle"
    monkeypatch.delenv("XDG_STATE_HOME")
    assert state_folder() == Path.home() / ".local" / "state" / "treadle"


@pytest.mark.parametrize("spec", ["foo://x", "mysql://u@h/d", "sqlite://runs.db", "sqlite:runs.db"])
def test_an_unknown_kind_of_journal_makes_no_file(spec: str):
    with pytest.raises(ConfigError, match="no such kind of journal"):
        open_journal(spec)


def test_a_journal_stays_the_same_in_another_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TREADLE_STATE", "state")
    names = ("j.db", "sqlite:///j.db", "sqlite:////var/j.db", "", "memory:", "postgres://me@host/db")
    assert [anchored(name) for name in names] == [
        str(tmp_path / "j.db"),
        str(tmp_path / "j.db"),
        "/var/j.db",
        str(tmp_path / "state" / "journal.db"),
        "memory:",
        "postgres://me@host/db",
    ]
