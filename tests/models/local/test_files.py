"""Locks between processes, disk space, progress."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from models.local.hub import file_names
from treadle._models.local import files as local_files
from treadle._models.local.files import Progress, locked, require_space
from treadle._types.errors import ModelError


def test_lock_of_a_dead_process_is_taken_over(tmp_path: Path):
    lock = tmp_path / "x.lock"
    lock.write_text("someone who died")
    begun = time.monotonic()
    with locked(lock, stale=0.3):
        assert lock.read_text() != "someone who died"
    assert 0.3 < time.monotonic() - begun < 3
    assert file_names(tmp_path) == []


def test_lock_of_a_living_process_is_respected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local_files, "HEARTBEAT_SECONDS", 0.05)
    lock = tmp_path / "x.lock"
    with locked(lock, stale=0.4):
        first, holder = lock.stat().st_mtime_ns, lock.read_text()
        time.sleep(0.3)
        assert lock.stat().st_mtime_ns > first
        assert lock.read_text() == holder


def test_a_full_disk_is_said_before_anything_is_written(tmp_path: Path):
    require_space(tmp_path, 1000)
    with pytest.raises(ModelError, match=r"are needed: free some space, or set TREADLE_CACHE"):
        require_space(tmp_path, 1 << 60)


def test_progress_without_a_terminal_is_a_line_per_tenth(capsys: pytest.CaptureFixture[str]):
    progress = Progress("toy", 1_000_000)
    for done in range(0, 1_000_001, 1000):
        progress.at(done)
    progress.close()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 11
    assert lines[0] == "toy: 0 % of 1 MB"
    assert lines[-1] == "toy: 100 % of 1 MB"


def test_progress_on_a_terminal_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    progress = Progress("toy", 2_000_000)
    progress.at(0)
    progress.at(2_000_000)
    progress.close()
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith("\rtoy [------------------------]   0 % of 2 MB")
    assert "[########################] 100 %" in said
