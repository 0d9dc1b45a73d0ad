"""Which model this machine gets when none is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit import row
from treadle._local import default
from treadle._local.weights import weights

GB = 1_000_000_000


def test_the_larger_one_needs_memory_and_disk():
    for memory, disk, larger in [
        (8 * GB, 50 * GB, True),
        (8 * GB, None, True),
        (3 * GB, 50 * GB, False),
        (8 * GB, 2 * GB, False),
        (None, None, False),
    ]:
        with row(memory, disk, larger):
            assert default.fits(memory, disk) is larger


def put(name: str) -> None:
    entry = weights.catalogue_entry(name)
    path = weights.models_folder() / entry.file
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(entry.size)  # sparse: it takes no space


def test_the_larger_one_needs_cores_and_more_of_them_without_fast_code():
    for cores, fast_code, quick in [
        (1, True, False),
        (2, True, True),
        (2, False, False),
        (7, False, False),
        (8, False, True),
    ]:
        with row(cores, fast_code, quick):
            assert default.quick(cores, fast_code) is quick


def test_what_is_here_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path))
    monkeypatch.delenv("TREADLE_WEIGHTS", raising=False)
    put(default.SMALLER)
    assert default.default_model() == default.SMALLER, "nobody waits for a download that is not needed"
    put(default.LARGER)
    roomy = default.fits(default.free_memory(), None) and default.quick(default.cores(), default.has_fast_code())
    assert default.default_model() == (default.LARGER if roomy else default.SMALLER)


@pytest.mark.parametrize("fast_code", [True, False])
def test_a_slow_machine_gets_the_smaller_one_unless_only_the_larger_one_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fast_code: bool
):
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path))
    monkeypatch.delenv("TREADLE_WEIGHTS", raising=False)
    monkeypatch.setattr(default, "fits", lambda *_: True)
    monkeypatch.setattr(default, "cores", lambda: 2)
    monkeypatch.setattr(default, "has_fast_code", lambda: fast_code)
    suited = default.LARGER if fast_code else default.SMALLER
    assert default.default_model() == suited
    put(default.LARGER)
    assert default.default_model() == default.LARGER, "nobody waits for a download that is not needed"
    put(default.SMALLER)
    assert default.default_model() == suited


def test_memory_is_what_the_container_leaves(tmp_path: Path):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:       16000000 kB\nMemAvailable:    8000000 kB\n")
    assert default.free_memory(meminfo, tmp_path) == 8_000_000 * 1024
    (tmp_path / "memory.max").write_text("3000000000\n")
    (tmp_path / "memory.current").write_text("1000000000\n")
    assert default.free_memory(meminfo, tmp_path) == 2_000_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert default.free_memory(meminfo, tmp_path) == 8_000_000 * 1024
    meminfo.write_text("nonsense")
    told = default.free_memory(meminfo, tmp_path)
    assert told is None or told > 0


def test_the_disk_of_a_folder_that_is_not_there_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path / "a" / "b"))
    assert default.free_disk() > 0
