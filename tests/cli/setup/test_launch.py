"""How a run is started, and what its log says about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle._cli.setup.launch import Launch, launch_note, launch_of
from treadle._types.events import Noted, Record, RunStarted


def log(run: str, *notes: Noted) -> list[Record]:
    return [Record(run, seq, 0.0, event) for seq, event in enumerate((RunStarted("q"), *notes))]


@pytest.fixture(autouse=True)
def own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREADLE_STATE", str(tmp_path / "state"))


@pytest.mark.parametrize("tools", ["sql,url=postgres://ada:hunter2@db/shop", "tavily,key=hunter2"])
def test_secrets_in_tool_parameters_are_not_kept(tools: str):
    note = launch_note("r", Launch(model="m:x", tools=("calculator", tools)))
    assert "hunter2" not in str(note)
    launch = launch_of(log("r", note))
    assert launch is not None
    assert launch.tools == ("calculator", "[redacted]")


def test_the_newest_note_counts():
    first, second = Launch(model="m:x"), Launch(model="m:y")
    assert launch_of(log("r", launch_note("r", first), launch_note("r", second))) == second


def test_a_note_that_was_changed_or_copied_is_not_believed():
    note = launch_note("r", Launch(model="m:x", tools=("calculator",)))
    changed = Noted(note.component, {**note.data, "launch": {"model": "m:x", "tools": ["evil:tool"]}})
    assert launch_of(log("r", note)) is not None
    assert launch_of(log("r", changed)) is None
    assert launch_of(log("another", note)) is None
    assert launch_of(log("r", Noted(note.component, {"launch": 5}))) is None
    assert launch_of(log("r")) is None
