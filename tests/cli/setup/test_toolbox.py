"""Tools by the names a user types."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cli.terminal import call, open_gate, script

Inside = Callable[..., Any]


def test_tools_by_name_module_and_file_with_parameters(home: Path, inside: Inside):
    (home / "docs").mkdir()
    (home / "docs" / "note.txt").write_text("the word is xyzzy\n")
    open_gate(home, "a")
    model = script(home, [call("read_file", path="note.txt"), call("gate", name="a"), call("erase", path="a")], "xyzzy")
    done = inside("run", "q", "-m", model, "-t", "files,folder=docs", "-t", "mytools:gate,mytools.py:erase", "--yes")
    assert done.code == 0, done.err
    assert "the word is xyzzy" in done.err
    assert "waiting at a" in done.err
    assert (home / "erased.txt").read_text() == "a\n"
    assert inside("run", "q", "-m", script(home, call("write_file", path="x", text="y"), "no"), "-t", "files").code == 0
    assert not (home / "x").exists(), "files are only read unless writing is asked for"
