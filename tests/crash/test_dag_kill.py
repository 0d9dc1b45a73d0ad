"""kill -9 with steps of a plan in flight: resumed, finished steps are not run again and the rest completes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "benchmarks/dag_kill.py"
pytestmark = pytest.mark.timeout(900)  # a dozen processes and more, one after the other, on a machine that may be busy


def rows(*options: str) -> list[dict[str, str]]:
    done = subprocess.run([sys.executable, SCRIPT, *options], capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    titles, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines())
    return [dict(zip(titles, line, strict=True)) for line in lines]


def check(table: list[dict[str, str]], kills: int) -> None:
    unsafe, idempotent = table
    for row in table:
        assert int(row["kills tried"]) >= kills
        assert int(row["with steps in flight"]) >= kills // 2
        assert int(row["most in flight"]) >= 2
        assert int(row["steps finished before the kill"]) > 0
        assert (row["of these run again"], row["runs lost"]) == ("0", "0")
    assert unsafe["effects doubled"] == "0"
    assert idempotent["effects that never happened"] == "0"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the matrix forks its victims")
def test_a_plan_killed_with_steps_in_flight_goes_on():
    check(rows("--every", "11"), kills=6)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the matrix forks its victims")
def test_a_plan_killed_at_every_instant_goes_on():
    check(rows(), kills=50)
