"""Locks between processes, disk space, progress."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from local.hub import file_names
from treadle._local.weights import files as local_files
from treadle._local.weights.files import Progress, locked, require_space
from treadle._types.errors import ModelError


class Clock:
    """Stands for the module `time`: sleeping only moves its hands."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    clock = Clock()
    monkeypatch.setattr(local_files, "time", clock)
    lock = tmp_path / "x.lock"
    lock.write_text("a dead process")
    with locked(lock, stale=8.0):
        assert lock.read_text() != "a dead process"
    assert 8.0 < clock.now < 9.0
    assert file_names(tmp_path) == []


def test_a_held_lock_is_touched_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local_files, "HEARTBEAT_SECONDS", 0.05)
    lock = tmp_path / "x.lock"
    with locked(lock):
        first, holder = lock.stat().st_mtime_ns, lock.read_text()
        while lock.stat().st_mtime_ns == first:
            time.sleep(0.01)
        assert lock.read_text() == holder


def test_a_full_disk_is_an_error_before_anything_is_written(tmp_path: Path):
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
    output = capsys.readouterr().err
    assert output.count("\n") == 1
    assert output.startswith("\rtoy [------------------------]   0 % of 2 MB")
    assert "[########################] 100 %" in output
