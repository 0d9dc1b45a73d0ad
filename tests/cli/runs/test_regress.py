"""`treadle regress` and `runs keep`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.terminal import Inside, call, script


def test_runs_become_tests_and_a_change_is_checked_against_them(home: Path, inside: Inside):
    model = script(home, call("calculator", expression="2 + 3"), "It is 5.", "It is 6.")
    start = ("run", "How much is 2 + 3?", "-m", model, "--system", "Be kind.", "--tools", "calculator")
    assert inside(*start).code == 0
    kept = inside("runs", "keep", "last", "--expect", "5")
    assert "expected: 5" in kept.out
    same = inside("regress", "--tag", "kept")
    assert (same.code, same.out) == (
        0, "1 runs: 1 unaffected; 100% of the model calls were not needed, 0 were made (0 tokens)\n"
    )  # fmt: skip
    other = inside(
        "regress", "--tag", "kept", "--system", "Be brief.", "--junit", "report.xml", "--html", "report.html"
    )
    assert other.code == 1
    assert "request 1: message 0, byte" in " ".join(other.out.split())
    assert "<failure" in (home / "report.xml").read_text()
    assert "affected" in (home / "report.html").read_text()
    base = ("regress", "--system", "Be brief.", "--baseline", "accepted.json")
    assert inside(*base, "--accept").code == 0
    assert inside(*base).code == 0
    assert "affected" in json.loads((home / "accepted.json").read_text()).popitem()[1]
    wrong = script(home, "It is 7.", "It is 7.", name="wrong")
    judged = inside("regress", "last", "-m", wrong, "--budget", "5", "--json")
    (run,) = json.loads(judged.out)["runs"]
    assert (judged.code, run["verdict"]) == (1, "worse")
    assert "--accept writes what is accepted" in inside("regress", "--accept").err
    assert "no finished run" in inside("regress", "--tag", "none").err


def test_runs_of_another_program_are_compared_as_that_program_is(
    home: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")  # nothing is asked
    schema = {"name": "price", "description": "Look up a price.", "parameters": {"type": "object", "properties": {}}}
    called = {"id": "c", "type": "function", "function": {"name": "price", "arguments": "{}"}}
    asked = [
        {"role": "system", "content": "Be kind.\nRound every price."},
        {"role": "user", "content": "What does the lamp cost?"},
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "c", "content": "40 dollars"},
        {"role": "assistant", "content": "About 50."},
    ]
    talks = [
        {"messages": asked, "tools": [{"type": "function", "function": schema}]},
        {"messages": asked},  # an export need not say which tools there were
        {"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]},
    ]
    (home / "talks.jsonl").write_text("\n".join(map(json.dumps, talks)))
    imported = inside("runs", "import", "talks.jsonl")
    assert inside("regress").out.startswith("3 runs: 3 unaffected;")
    assert inside("regress", "--system", "Be brief.").out.count(" affected ") == 3
    first = next(run for run in imported.out.split() if "price" in inside("runs", "show", run).out)
    # The same again, a line, and the line that was wrong; then everything else.
    model = script(home, "About 50.", "About 50.", "It is 40.", *["About 50."] * 60)
    program = home / "app.py"
    program.write_text('TOLD = """Be kind.\nRound every price."""\nask([{"role": "system", "content": TOLD}])\n')
    found = inside("runs", "why", first, "--expect", "40", "-m", model, "--parallel", "1", "--source", str(program))
    assert "without 'Round every price.'" in found.out, found.out + found.err
    assert '-Round every price."""' in found.out
