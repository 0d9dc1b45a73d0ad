"""Model files by name: verified, shared between processes, from where the user says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from local.hub import DATA, Hub, fake, file_names
from treadle._local.weights import files as local_files
from treadle._local.weights import weights
from treadle._types.errors import ModelError, UnknownModelError
from treadle._types.paths import cache_folder

pytestmark = pytest.mark.usefixtures("cache")


def test_hub_gives_the_file_once(hub: Hub, cache: Path):
    path = weights.fetch(fake())
    assert path == cache / "toy.gguf"
    assert path.read_bytes() == DATA
    assert weights.fetch(fake()) == path
    assert hub.paths == ["/someone/toy-GGUF/resolve/main/toy.gguf"]
    assert file_names(cache) == ["toy.gguf"]


@pytest.mark.parametrize("data", [DATA[:-1] + b"!", DATA[:1000] + b"?" + DATA[1001:]], ids=["end", "middle"])
def test_wrong_bytes_never_get_the_name(hub: Hub, cache: Path, data: bytes):
    hub.data = data
    with pytest.raises(ModelError, match=r"not the publisher's.*was deleted.*put the file at") as raised:
        weights.fetch(fake())
    assert "is kept" not in str(raised.value)
    assert file_names(cache) == []
    hub.data = DATA
    assert weights.fetch(fake()).read_bytes() == DATA


def test_a_damaged_file_in_the_cache_is_fetched_again(hub: Hub, cache: Path):
    cache.mkdir(parents=True)
    (cache / "toy.gguf").write_bytes(DATA[:10])
    assert weights.fetch(fake()).read_bytes() == DATA


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
        "from local.hub import fake; from treadle._local.weights import weights; "
        "import sys; print(weights.fetch(fake(), quiet=True).stat().st_size)"
    )
    source = Path(weights.__file__).parents[3]
    tests = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(source), str(tests)))}
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [process.communicate(timeout=100)[0].strip() for process in running] == [str(len(DATA))] * 3
    assert len(hub.paths) == 1
    assert file_names(cache) == ["toy.gguf"]


def test_full_disk_while_fetching(hub: Hub, cache: Path, monkeypatch: pytest.MonkeyPatch):
    class Disk(NamedTuple):
        free: int

    monkeypatch.setattr(local_files.shutil, "disk_usage", lambda _: Disk(1000))
    with pytest.raises(ModelError, match=r"free some space.*TREADLE_CACHE"):
        weights.fetch(fake())
    assert hub.paths == []
    assert file_names(cache) == []


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
    assert cache_folder() == Path(expected)


def test_catalogue_parts_add_up():
    for entry in weights.CATALOGUE.values():
        assert len(entry.sha256) == 64
        assert 0 < entry.size - entry.part_size * (len(entry.packages) - 1) <= (entry.part_size or entry.size)
