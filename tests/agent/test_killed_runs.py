"""A run that is killed at any record or in any tool is resumed: nothing is lost, and nothing unsafe is done twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the script forks the processes it kills")
def test_a_run_killed_at_any_instant_is_resumed():
    script = ROOT / "benchmarks" / "crash_matrix.py"
    process = subprocess.run([sys.executable, script], capture_output=True, text=True)
    print(process.stdout)
    assert process.returncode == 0, process.stdout + process.stderr
    rows = [line.split("|") for line in process.stdout.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 2
    for row in rows:
        kills, lost, doubled = (int(cell) for cell in row[2:5])
        assert kills > 30
        assert (lost, doubled) == (0, 0)
    assert int(rows[0][5]) > 0, "an unsafe call that was in progress is reported as unknown"
