"""The set-up of a build machine (tasks.py): what is missing is installed there, and nowhere else."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest

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
    assert asked == ["update", "install -y --no-install-recommends bubblewrap zsh fish"]


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
