"""The files that a run has made, at the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit import call, go
from treadle import Agent, Artifact, ScriptedModel, ToolResponse, tool
from treadle._cli.display.made import show_files

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAYAAAC56t6BAAAAEklEQVR42mNkYPhfz0AEYBxVSAEAOQYHAaKJdbgAAAAASUVORK5CYII="


def test_each_file_has_a_path_and_a_preview(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    @tool
    def draw() -> ToolResponse:
        """Draw."""
        table = Artifact("t.csv", "month,sold\n1,2\n\x1b[2J,4\n" + "5,6\n" * 50, "text/csv")
        bad = Artifact("../../.ssh/key", "x", "text/plain")
        made = (Artifact("plot.png", PNG, "image/png", base64=True), table, table, bad)
        return ToolResponse("drawn", artifacts=made)

    monkeypatch.setenv("TREADLE_STATE", str(tmp_path))
    result = go(Agent(ScriptedModel([call("draw"), "Done."]), [draw]).run("q"))
    show_files(result)
    folder = tmp_path / "files" / result.run_id
    said = capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == ["key", "plot.png", "t-2.csv", "t.csv"]
    assert f"file: {folder / 'plot.png'} (image/png, 2 x 3," in said
    assert "  month  sold\n  1      2\n" in said
    assert "\x1b" not in said
    assert said.count("5      6") <= 8
