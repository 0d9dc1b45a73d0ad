"""`runs list` and `runs show`."""

from __future__ import annotations

import json
from pathlib import Path

from cli.terminal import TWO, Inside, call, run_id, script


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


def test_the_list_in_pages_and_filtered(home: Path, inside: Inside):
    for number in range(3):
        inside("run", f"question {number}", "-m", script(home, "yes"))
    first = inside("runs", "list", "-n", "2")
    assert len(first.out.splitlines()) == 4
    cursor = first.err.split("--after ")[1].strip()
    second = inside("runs", "list", "-n", "2", "--after", cursor)
    assert second.out.splitlines()[-1].endswith("question 0")
    assert "--after" not in second.err
    assert inside("runs", "list", "--search", "QUESTION 1").out.splitlines()[-1].endswith("question 1")
    inside("run", "which animal?", "-m", script(home, "a striped zebra"))
    assert inside("runs", "list", "--search", "Zebra striped").out.splitlines()[-1].endswith("which animal?")
    assert "no runs match" in inside("runs", "list", "--search", "answer").out, "the name of a field is no word"
    assert "no runs match" in inside("runs", "list", "--tag", "none").out
    wrong = inside("runs", "list", "--after", "x")
    assert wrong.code != 0
    assert "is no place in a list of runs" in wrong.err


def test_a_fork_that_nobody_drives_is_idle(home: Path, inside: Inside):
    inside("run", "hello", "-m", script(home, "yes"))
    inside("runs", "fork", "last", "--at", "1")
    assert [line.split()[1] for line in inside("runs", "list").out.splitlines()[2:]].count("idle") == 1
    assert "no running runs" in inside("runs", "list", "--status", "running").out


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
