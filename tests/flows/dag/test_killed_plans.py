"""A plan that is killed while steps are in progress is resumed: finished steps are not run again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "dag_kill.py"
pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the script forks the processes it kills"),
]


def kill_and_resume(*options: str) -> list[dict[str, str]]:
    """The rows of the script's table."""
    process = subprocess.run([sys.executable, SCRIPT, *options], capture_output=True, text=True)
    print(process.stdout)
    assert process.returncode == 0, process.stdout + process.stderr
    titles, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in process.stdout.splitlines())
    return [dict(zip(titles, line, strict=True)) for line in lines]


def check(table: list[dict[str, str]], kills: int) -> None:
    unsafe, idempotent = table
    for row in table:
        assert int(row["kills tried"]) >= kills
        assert int(row["with steps in flight"]) >= kills // 2
        assert int(row["most in flight"]) == 3
        assert int(row["steps finished before the kill"]) > 0
        assert (row["of these run again"], row["runs lost"]) == ("0", "0")
    assert unsafe["effects doubled"] == "0"
    assert idempotent["effects that never happened"] == "0"


def test_a_plan_killed_with_steps_in_progress_is_resumed():
    check(kill_and_resume("--every", "11"), kills=6)


@pytest.mark.slow
@pytest.mark.long  # `python3 tasks.py prove plan`; the test above kills it at every eleventh
def test_a_plan_killed_at_any_instant_is_resumed():
    check(kill_and_resume(), kills=50)
