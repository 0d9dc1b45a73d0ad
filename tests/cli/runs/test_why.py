"""`runs why`."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from cli.terminal import Inside, call, script


def wrong_run(home: Path, inside: Inside) -> str:
    model = script(home, "four", "four", "It is 5.")
    inside("run", "How much is 2 + 3?", "-m", model, "--system", "Be kind.\nSay four.", "--tools", "calculator")
    # The same again goes wrong, then the line whose word the answer has is left out, then everything else.
    return script(home, "four", "It is 5.", *["four"] * 60, name="again")


def test_why_finds_a_change_and_shows_the_evidence(home: Path, inside: Inside):
    again = wrong_run(home, inside)
    before = inside("runs", "list", "--ids").out.split()
    done = inside("runs", "why", "last", "--expect", "5", "-m", again, "--parallel", "1", "--source", __file__)
    assert done.code == 0, done.err
    assert "judged by what was expected: 5" in done.out
    assert "1. it goes right with the system prompt without 'Say four.'" in done.out
    assert "system prompt:\n    Be kind.\n   -Say four." in done.out
    assert "model requests" in done.out
    assert "- step 1: nothing changed" in done.err
    assert "+ step 1: the system prompt without 'Say four.'" in done.err
    assert inside("runs", "list", "--ids").out.split() == before, "experiments are no runs of the user"
    everything = inside("runs", "list", "--all", "--ids").out.split()
    assert len(everything) > len(before) + 2, "each experiment is a run to look at"
    experiment = next(run for run in everything if "." not in run and run not in before)
    assert "How much is 2 + 3?" in inside("runs", "show", experiment).out
    refused = inside("runs", "fork", experiment, "--at", "1")
    assert "is an experiment: fork the run it was made with" in refused.err


def test_a_mark_on_the_answer_or_a_step_and_a_patch_that_is_applied(
    home: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    again = wrong_run(home, inside)
    prompt = home / "prompt.txt"
    prompt.write_text("Be kind.\nSay four.\n")
    assert "no step 9" in inside("runs", "mark", "last", "--expect", "5", "--step", "9").err
    assert "say what was expected" in inside("runs", "mark", "last").err
    assert "expected at step 1: 5" in inside("runs", "mark", "last", "--expect", "5", "--step", "1").out
    wanted = ("--expect-call", "calculator", "--expect-args", '{"a": 2}')
    assert 'expected call: calculator {"a":2}' in inside("runs", "mark", "last", *wanted).out
    inside("runs", "note", "last", "expected at step 1: 5")
    apply = ("runs", "why", "last", "-m", again, "--parallel", "1", "--system", "Be kind.\nSay four.", "--source")
    refused = inside(*apply, str(prompt), "--apply")
    assert "make this change in" in refused.err, "and nobody said yes"
    assert "the change was not confirmed" in refused.err
    assert prompt.read_text() == "Be kind.\nSay four.\n"
    done = inside(*apply, str(prompt), "--apply", "--yes")
    assert "judged by a person's mark, expected at step 1: 5" in done.out
    assert "-Say four." in done.out, done.out + done.err
    assert f"applied to {prompt}" in done.out
    assert prompt.read_text() == "Be kind.\n"
    nothing = inside("runs", "why", "last", "-m", again, "--parallel", "1", "--apply")
    assert "no patch to apply" in nothing.err


@pytest.mark.parametrize(("answers", "written"), [("yes\n", False), ("yes\nno\n", False), ("yes\nyes\n", True)])
def test_the_patch_of_an_imported_run_needs_a_second_yes(
    home: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch, answers: str, written: bool
):
    again = wrong_run(home, inside)
    run = inside("runs", "list", "--ids").out.split()[0]
    inside("runs", "export", run, "-o", "run.jsonl")
    inside("runs", "delete", run)
    inside("runs", "import", "run.jsonl")
    prompt = home / "prompt.txt"
    prompt.write_text("Be kind.\nSay four.\n")
    named = ("--tools", "calculator", "--system", prompt.read_text().strip(), "--source", str(prompt))
    monkeypatch.setattr("sys.stdin", io.StringIO(answers))
    done = inside("runs", "why", run, "--expect", "5", "-m", again, "--parallel", "1", *named, "--apply")
    assert ("applied to" in done.out) is written, done.err
    assert ("Say four." not in prompt.read_text()) is written


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


def test_of_a_run_that_was_not_started_here_no_other_model_is_asked(
    home: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch
):
    again = wrong_run(home, inside)
    (home / "state" / "launch.key").unlink()  # a run of a server or a program has no such note either
    nothing = inside("runs", "why", "last")
    assert "(--expect)" in nothing.err, "what is wrong is asked for before its model, which may be far away"
    monkeypatch.setenv("TREADLE_MODEL", "local:other")
    refused = inside("runs", "why", "last", "--expect", "5", "--tools", "calculator")
    assert refused.code == 2
    assert "this run asked 'scripted:script', and local:other would say nothing about it" in refused.err
    same = inside("runs", "why", "last", "--expect", "5", "--tools", "calculator", "-m", again, "--parallel", "1")
    assert "nothing changed" in same.err


def test_nothing_is_approved_or_run_in_an_experiment(home: Path, inside: Inside):
    model = script(home, call("pay", to="ann"), "done")
    inside("run", "Pay ann", "-m", model, "--tools", "mytools:pay", "--yes")
    assert (home / "paid.txt").read_text() == "ann\n"
    again = script(home, *[call("pay", to="bob"), call("pay", to="ann"), "done"] * 10, name="again")
    done = inside("runs", "why", "last", "--expect", "paid", "-m", again, "--yes", "--parallel", "1")
    assert "step 1: nothing changed" in done.err, done.err
    assert (home / "paid.txt").read_text() == "ann\n", "the recorded run has paid, no experiment has"
