"""`runs list` and `runs show`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cli.terminal import call, script

Inside = Callable[..., Any]


TWO = (call("calculator", expression="2 + 2"), call("calculator", expression="4 * 10"), "forty")


def run_id(inside: Inside, which: int = 0) -> str:
    return inside("runs", "list", "--ids").out.splitlines()[which]


def test_list_and_show(home: Path, inside: Inside):
    assert "no runs" in inside("runs", "list").out
    inside("run", "What is it?\nReally?", "-m", script(home, *TWO))
    inside("run", "wait for me", "-m", script(home, call("erase", path="x")), "-t", "mytools:erase")
    lines = inside("runs", "list").out.splitlines()
    assert [line.split()[1] for line in lines[2:]] == ["paused", "answer"]
    assert lines[3].endswith("What is it? Really?")
    assert len(inside("runs", "list", "--status", "paused").out.splitlines()) == 3
    assert json.loads(inside("runs", "list", "--json", "-n", "1").out)["status"] == "paused"
    shown = inside("runs", "show", run_id(inside, 1)[:6]).out
    assert "2 + 2" in shown
    assert "answer\n  forty" in shown
    assert "3 steps" in shown
    assert "waits for approval: call_1_0  erase x" in inside("runs", "show", "last").out
    assert "tool_started" in inside("runs", "show", run_id(inside, 1), "--records").out


def test_hostile_questions_do_not_reach_the_terminal(home: Path, inside: Inside):
    inside("run", "evil \x1b]0;title\x07 \u202equestion", "-m", script(home, "an \x1b[31manswer"))
    for command in (
        ("list",),
        ("show", "last"),
        ("show", "last", "--records"),
        ("explain", "last"),
        ("explain", "last", "--text"),
    ):
        out = inside("runs", *command).out
        assert not set(out) & {"\x1b", "\x07", "\u202e"}, command
