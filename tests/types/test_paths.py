"""The folder for what is remembered, on each system."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from treadle._types.paths import state_folder


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """Nothing is set but the home folder."""
    for name in ("TREADLE_STATE", "XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    return monkeypatch


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("linux", ".local/state/treadle"),
        ("freebsd14", ".local/state/treadle"),
        ("darwin", "Library/Application Support/treadle"),
        ("win32", "AppData/Local/treadle"),
    ],
)
def test_each_system_has_its_own_folder(bare: pytest.MonkeyPatch, tmp_path: Path, platform: str, expected: str):
    bare.setattr(sys, "platform", platform)
    assert state_folder() == tmp_path / expected


@pytest.mark.parametrize(
    ("platform", "variable"), [("linux", "XDG_STATE_HOME"), ("win32", "LOCALAPPDATA")], ids=["linux", "windows"]
)
def test_the_systems_variable_moves_it(bare: pytest.MonkeyPatch, tmp_path: Path, platform: str, variable: str):
    bare.setattr(sys, "platform", platform)
    bare.setenv(variable, str(tmp_path / "elsewhere"))
    assert state_folder() == tmp_path / "elsewhere" / "treadle"
    bare.setenv(variable, "")
    assert tmp_path / "elsewhere" not in state_folder().parents


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_treadles_own_variable_wins_and_is_taken_as_it_is(bare: pytest.MonkeyPatch, tmp_path: Path, platform: str):
    bare.setattr(sys, "platform", platform)
    bare.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    bare.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    bare.setenv("TREADLE_STATE", str(tmp_path / "mine"))
    assert state_folder() == tmp_path / "mine"
    assert not (tmp_path / "mine").exists()


def test_a_tilde_is_the_home_folder(bare: pytest.MonkeyPatch, tmp_path: Path):
    bare.setenv("HOME", str(tmp_path))
    bare.setenv("USERPROFILE", str(tmp_path))
    bare.setenv("TREADLE_STATE", "~/kept")
    assert state_folder() == tmp_path / "kept"
