"""`runs why`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cli.terminal import call, script

Inside = Callable[..., Any]


def wrong_run(home: Path, inside: Inside) -> str:
    model = script(home, "four", "four", "It is 5.")
    inside("run", "How much is 2 + 3?", "-m", model, "--system", "Be kind.\nSay four.", "--tools", "calculator")
    return script(home, *["four"] * 2, *["It is 5."] * 40, name="again")


def test_why_finds_a_change_and_shows_the_evidence(home: Path, inside: Inside):
    again = wrong_run(home, inside)
    before = inside("runs", "list", "--ids").out.split()
    done = inside("runs", "why", "last", "--expect", "5", "-m", again, "--parallel", "1", "--source", __file__)
    assert done.code == 0, done.err
    assert "judged by what was expected: the answer has '5'" in done.out
    assert "1. it goes right with the system prompt without 'Say four.'" in done.out
    assert "-system.text: Say four." in done.out
    assert "model requests" in done.out
    assert "- step 1: nothing changed" in done.err
    assert "+ step 1: the system prompt without 'Say four.'" in done.err
    assert len(inside("runs", "list", "--ids").out.split()) > len(before), "each experiment is a run to look at"


def test_why_as_json_and_with_a_persons_mark(home: Path, inside: Inside):
    again = wrong_run(home, inside)
    run = inside("runs", "list", "--ids").out.split()[0]
    inside("runs", "note", run, "expected: 5")
    done = inside("runs", "why", run, "-m", again, "--parallel", "1", "--json")
    found = json.loads(done.out)
    assert found["judge"].startswith("a person's mark")
    assert found["run"] == run
    assert found["requests"] >= 2
    assert done.err == ""


def test_why_says_what_is_missing(home: Path, inside: Inside):
    again = wrong_run(home, inside)
    asked = inside("runs", "why", "last", "-m", again)
    assert asked.code == 2
    assert "say what is wrong with it" in asked.err
    right = inside("runs", "why", "last", "--expect", "four", "-m", again)
    assert "nothing is wrong with this run" in right.err
    assert "must be a JSON object" in inside("runs", "why", "last", "--expect-call", "x", "--expect-args", "[1]").err
    assert "name its tool" in inside("runs", "why", "last", "--expect-args", '{"a": 1}').err
    assert inside("runs", "why", "no-such-run", "--expect", "x").code == 2


def test_nothing_is_approved_or_run_in_an_experiment(home: Path, inside: Inside):
    model = script(home, call("pay", to="ann"), "done")
    inside("run", "Pay ann", "-m", model, "--tools", "mytools:pay", "--yes")
    assert (home / "paid.txt").read_text() == "ann\n"
    again = script(home, *[call("pay", to="bob"), call("pay", to="ann"), "done"] * 10, name="again")
    done = inside("runs", "why", "last", "--expect", "paid", "-m", again, "--yes", "--parallel", "1")
    assert "step 1: nothing changed" in done.err, done.err
    assert (home / "paid.txt").read_text() == "ann\n", "the recorded run has paid, no experiment has"
