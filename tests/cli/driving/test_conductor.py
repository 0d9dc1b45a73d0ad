"""A run and the person at the keyboard: approval, Ctrl-C."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli.terminal import Terminal, call, interrupt, script, start, treadle, until
from waiting import GUARD_SECONDS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")


pytest.importorskip("rich")


@pytest.mark.parametrize(
    ("key", "code", "erased"), [("y", 0, "a\nb\n"), ("n", 0, ""), ("a", 0, "a\nb\n"), ("l", 4, "")]
)
def test_approval_is_asked_for(home: Path, key: str, code: int, erased: str):
    model = script(home, call("erase", path="a"), call("erase", path="b"), "done")
    with Terminal(home, "run", "q", "-m", model, "-t", "mytools:erase") as screen:
        screen.wait_for('? erase {"path":"a"}')
        screen.wait_for("allow this call?")
        screen.type("x")  # not an answer
        screen.type(key)
        if key in "yn":
            screen.wait_for('? erase {"path":"b"}')
            screen.type(key)
        assert screen.end() == code, screen.text
    assert ((home / "erased.txt").read_text() if erased else "") == erased
    assert (home / "erased.txt").exists() == bool(erased)


def test_ctrl_c_in_a_terminal(home: Path):
    with Terminal(home, "run", "q", "-m", script(home, call("gate", name="a"), "x"), "-t", "mytools:gate") as screen:
        screen.wait_for("waiting at a")
        screen.ctrl_c()
        assert screen.end() == 130
    assert "✗ cancelled" in screen.text
    assert screen.raw.count("\x1b[?25l") == screen.raw.count("\x1b[?25h")


def test_ctrl_c_once_cancels_cleanly(home: Path):
    model = script(home, [call("calculator", expression="1"), call("gate", name="a")], "never")
    with start(home, "run", "q", "-m", model, "-t", "mytools:gate", "-t", "calculator") as process:
        until(process, "> calculator")
        interrupt(process)
        out, err = process.communicate(timeout=GUARD_SECONDS)
        assert process.returncode == 130
        assert out == ""
        assert "stopping" in err
        assert "-- cancelled, 1 step" in err
        records = treadle(home, "runs", "show", "last", "--json").records
        assert records[-1]["event"]["stop_reason"] == "cancelled"
        assert sorted(r["event"]["name"] for r in records if r["event"]["type"] == "tool_done") == [
            "calculator",
            "gate",
        ]


def test_ctrl_c_twice_leaves_at_once_and_loses_nothing(home: Path):
    (home / "deaf.py").write_text(
        "import asyncio, time\nfrom treadle import tool\n\n@tool\nasync def deaf() -> str:\n"
        '    """Does not listen."""\n    while True:\n        try:\n            await asyncio.sleep(60)\n'
        "        except asyncio.CancelledError:\n            pass\n"
    )
    model = script(home, [call("calculator", expression="1"), call("deaf")], "never")
    with start(home, "run", "q", "-m", model, "-t", "deaf:deaf", "-t", "calculator") as process:
        until(process, "> calculator")
        interrupt(process)
        until(process, "stopping")
        interrupt(process)
        process.communicate(timeout=GUARD_SECONDS)
        assert process.returncode == 130
        assert "finished" not in treadle(home, "runs", "list", "--json").out
        assert "calculator" in treadle(home, "runs", "show", "last", "--records").out


def test_a_blocked_thread_does_not_keep_the_program(home: Path):
    model = script(home, [call("calculator", expression="1"), call("stuck")], "never")
    with start(home, "run", "q", "-m", model, "-t", "mytools:stuck,calculator") as process:
        until(process, "> calculator")
        interrupt(process)
        process.communicate(timeout=GUARD_SECONDS)
        assert process.returncode == 130
    assert "stuck: failed (unknown_outcome)" in treadle(home, "runs", "show", "last").out
