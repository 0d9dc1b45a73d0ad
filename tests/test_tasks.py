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
    """The folder of a machine's only programs: an `apt-get` that keeps what it is asked for, and a browser."""
    program(tmp_path / "apt-get", 'echo "$@" >> "$0.log"')
    program(tmp_path / "chromium-headless-shell", "")
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


def suite_ends_with(tasks: ModuleType, monkeypatch: pytest.MonkeyPatch, failing: str) -> int:
    """Return the code of the whole suite where the one command that names `failing` fails."""

    def call(*command: object, **env: str) -> int:
        return 3 if failing in [str(part) for part in command] else 0

    monkeypatch.setattr(tasks, "environment", lambda name: Path("python"))
    monkeypatch.setattr(tasks, "install_system_programs", lambda: None)
    monkeypatch.setattr(tasks, "call", call)
    return tasks.test([])


@pytest.mark.parametrize("failing", ["pytest", "tests/coverage_floors.py", "check", "--check", "basedpyright"])
def test_each_part_can_fail_the_suite(tasks: ModuleType, monkeypatch: pytest.MonkeyPatch, failing: str):
    assert suite_ends_with(tasks, monkeypatch, failing) == 3
    assert suite_ends_with(tasks, monkeypatch, "nothing") == 0


def test_every_package_has_a_floor():
    packages = {path.parent.name for path in (ROOT / "src" / "treadle").glob("_*/__init__.py")}
    assert packages == FLOORS.keys()


def test_the_package_is_built_without_the_environment_of_the_tests(tasks: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """That takes minutes to set up, and the build needs four small packages of it."""
    asked: list[str] = []

    def environment(name: str) -> Path:
        asked.append(name)
        return Path("python")

    def call(*command: object) -> int:
        return 0

    monkeypatch.setattr(tasks, "environment", environment)
    monkeypatch.setattr(tasks, "call", call)
    assert tasks.wheel([]) == 0
    assert asked == ["wheel"]
