"""tasks.py: what the whole suite is made of, and the set-up of a build machine."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest

from coverage_floors import FLOORS

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def tasks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tasks", ROOT / "tasks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a machine's only programs: an `apt-get` that keeps what it is asked for, and chromium."""
    program(tmp_path / "apt-get", 'echo "$@" >> "$0.log"')
    program(tmp_path / "chromium", "")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/nothing")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("CI", "true")
    return tmp_path


def program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_a_build_machine_gets_what_is_missing(tasks: ModuleType, machine: Path):
    tasks.install_system_programs()
    asked = (machine / "apt-get.log").read_text().splitlines()
    assert asked == ["update", "install -y --no-install-recommends firefox-esr bubblewrap nginx-light zsh fish"]


def test_a_failure_is_shown(tasks: ModuleType, machine: Path, capsys: pytest.CaptureFixture[str]):
    program(machine / "apt-get", "echo no network; exit 100")
    tasks.install_system_programs()
    assert "apt-get update failed:\nno network" in capsys.readouterr().err


@pytest.mark.parametrize("case", ["no build machine", "not root", "nothing missing"])
def test_elsewhere_nothing_is_installed(tasks: ModuleType, machine: Path, monkeypatch: pytest.MonkeyPatch, case: str):
    if case == "no build machine":
        monkeypatch.delenv("CI")
    elif case == "not root":
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
    else:
        for name in tasks.SYSTEM_PROGRAMS:
            program(machine / name, "")
    tasks.install_system_programs()
    assert not (machine / "apt-get.log").exists()


def calls_of(tasks: ModuleType, monkeypatch: pytest.MonkeyPatch, *codes: int) -> list[list[str]]:
    """What the whole suite starts, where the sessions of pytest end with these codes."""
    left, asked = list(codes), list[list[str]]()

    def call(*command: object, **env: str) -> int:
        asked.append([str(part) for part in command])
        return left.pop(0) if "pytest" in asked[-1] else 0

    monkeypatch.setattr(tasks, "environment", lambda name: Path("python"))
    monkeypatch.setattr(tasks, "install_system_programs", lambda: None)
    monkeypatch.setattr(tasks, "call", call)
    assert tasks.test([]) == next((code for code in codes if code), 0)
    return asked


def test_every_folder_is_in_one_session_and_those_with_a_floor_are_traced(
    tasks: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    assert {f"_{name}" for name in tasks.MEASURED} == FLOORS.keys()
    assert set(tasks.MEASURED) <= set(tasks.TRACED)
    assert all((ROOT / "tests" / name).is_dir() for name in tasks.TRACED)
    _, page, others, traced, floors = calls_of(tasks, monkeypatch, 0, 0)
    assert page[1:] == ["web/build.py"]
    assert [part for part in others if part.startswith("--ignore")] == [f"--ignore=tests/{n}" for n in tasks.TRACED]
    assert not [part for part in others if part.startswith(("tests", "--cov"))]
    assert [part for part in traced if part.startswith("tests")] == [f"tests/{name}" for name in tasks.TRACED]
    assert [part for part in traced if part.startswith("--cov=")] == [f"--cov=src/treadle/{name}" for name in FLOORS]
    assert floors[1:] == ["tests/coverage_floors.py"]


@pytest.mark.parametrize("codes", [(2, 0), (0, 2), (2, 1), (-9, 0), (0, -9)])
def test_a_session_that_could_not_run_fails_the_suite(
    tasks: ModuleType, monkeypatch: pytest.MonkeyPatch, codes: tuple[int, int]
):
    calls_of(tasks, monkeypatch, *codes)
