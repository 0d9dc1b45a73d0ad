"""What is printed when a run has ended without an answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cli.terminal import call, script

Inside = Callable[..., Any]


def test_a_paused_run_says_how_to_decide(home: Path, inside: Inside):
    model = script(home, call("erase", path="a\x1b[2J"), "gone")
    paused = inside("run", "q", "-m", model, "-t", "mytools:erase").err
    run = inside("runs", "list", "--ids").out.strip()
    assert 'waiting for approval: erase {"path":"a' in paused
    assert "(approval of erase; call call_1_0)" in paused
    decide = f"to decide: treadle runs approve {run[:8]} --all   (or: treadle runs deny {run[:8]} --all)"
    assert decide in paused
    assert "\x1b" not in paused
    unrecorded = inside("run", "q", "-m", model, "-t", "mytools:erase", "--journal", "none").err
    assert "it was not recorded (--journal none)" in unrecorded
    assert "treadle runs approve" not in unrecorded


def test_a_failed_run_says_why(home: Path, inside: Inside):
    done = inside("run", "q", "-m", script(home, {"error": "no such model", "status": 404}))
    assert [line for line in done.err.splitlines() if line.startswith("treadle: ")]
