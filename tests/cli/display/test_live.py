"""A run on a terminal."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli.terminal import Terminal, call, open_gate, script

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
pytest.importorskip("rich")


def test_a_run_is_shown_alive(home: Path):
    model = script(
        home,
        {"text": "Let me wait.", "calls": [call("gate", name="a")]},
        "# Done\n\nThe answer is **395**, see [here](https://example.com).",
        pace=0.01,
    )
    with Terminal(home, "run", "q", "-m", model, "-t", "mytools:gate") as screen:
        screen.wait_for("│ waiting at a")
        open_gate(home, "a")
        assert screen.end() == 0
    assert "thinking · step 1" in screen.text
    assert "╭ gate  a" in screen.text
    assert "│ open" in screen.text
    assert "working · step 1" in screen.text
    assert "The answer is 395, see here (https://example.com)." in screen.text, (
        "markdown is drawn, links are written out"
    )
    assert "✓ 2 steps" in screen.text
    assert screen.raw.rstrip().endswith("\x1b[0m")
    assert screen.raw.count("\x1b[?25l") == screen.raw.count("\x1b[?25h"), "the cursor is shown again"


def test_markup_and_escapes_of_others_are_only_text(home: Path):
    with Terminal(
        home, "run", "q", "-m", script(home, call("hostile"), "[red]answer[/red] \x1b]0;t\x07"), "-t", "mytools:hostile"
    ) as screen:
        assert screen.end() == 0
    assert "red clip reversed [bold]markup[/bold]" in screen.text
    assert "[red]answer[/red]" in screen.text
    assert "\x1b]" not in screen.raw


def test_without_rich_it_is_plain(home: Path):
    with Terminal(
        home, "run", "q", "-m", script(home, call("calculator", expression="1 + 1"), "two"), TREADLE_PLAIN="1"
    ) as screen:
        assert screen.end() == 0
    assert "> calculator 1 + 1\r\n  2\r\n" in screen.raw
    assert "\x1b" not in screen.raw
