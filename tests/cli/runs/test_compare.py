"""`runs compare`."""

from __future__ import annotations

import json
from pathlib import Path

from cli.terminal import Inside, call, script


def test_how_two_runs_differ(home: Path, inside: Inside):
    inside("run", "q", "-m", script(home, call("calculator", expression="2 + 2"), "four"))
    inside("run", "q", "-m", script(home, call("calculator", expression="2 + 3"), "five \x1b[2Jor so"))
    second, first = inside("runs", "list", "--ids").out.split()
    out = inside("runs", "compare", first, second).out
    assert f"run {first[:8]} and run {second[:8]}" in out
    assert "~ calculator" in out
    assert "2 + 2" in out
    assert "2 + 3" in out
    assert "\nanswer " in out
    assert "\nmodel " not in out, "what is the same is left out"
    assert "\x1b" not in out
    assert "\nmodel " in inside("runs", "compare", first, second, "--all").out
    assert json.loads(inside("runs", "compare", first, second, "--json").out)["first"] == first


def test_a_fork_and_its_origin(home: Path, inside: Inside):
    model = script(home, call("calculator", expression="2 + 2"), "four", "quatre")
    inside("run", "q", "-m", model)
    origin = inside("runs", "list", "--ids").out.strip()
    inside("runs", "fork", "last", "--at", "2", "--go", "--say", "in French", "-m", script(home, "quatre", name="fr"))
    out = inside("runs", "compare", origin[:8], "last").out
    assert "records in common" in out
    assert "calculator" not in out.split("steps:")[1], "what both did is not a difference"
    assert "quatre" in out
    assert inside("runs", "compare", "nothing", "last").code == 2
