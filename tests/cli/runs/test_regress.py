"""`treadle regress` and `runs keep`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cli.terminal import call, script

Inside = Callable[..., Any]


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
