"""How a run is started, kept in its log."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.mark.parametrize("tools", ["sql,url=postgres://ada:hunter2@db/shop", "tavily,key=hunter2"])
def test_secrets_in_tool_parameters_are_not_kept(home: Path, monkeypatch: pytest.MonkeyPatch, tools: str):
    from treadle._cli.setup.launch import Launch, launch_note, launch_of
    from treadle._types.events import Record, RunStarted

    monkeypatch.setenv("TREADLE_STATE", str(home / "state"))
    note = launch_note("r", Launch(model="m:x", tools=("calculator", tools)))
    assert "hunter2" not in str(note)
    launch = launch_of([Record("r", 0, 0.0, RunStarted("q")), Record("r", 1, 0.0, note)])
    assert launch is not None
    assert launch.tools == ("calculator", "[redacted]")
