"""`treadle tools`."""

from __future__ import annotations

from pathlib import Path

from cli.terminal import Inside


def test_every_builtin_tool_can_be_described(home: Path, inside: Inside):
    from treadle._tools.builtin import BUILTINS

    listed = inside("tools").out
    assert all(f"\n{name} " in listed for name in BUILTINS)
    described = inside("tools", "calculator", "files", "sql", "datetime", "mytools:erase").out
    assert "calculator: Work out" in described
    assert "list_files: " in described
    assert "asks first" in described
