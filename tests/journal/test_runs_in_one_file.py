"""Whole runs in a SQLite journal: bytes on disk are linear in their steps, and a hundred runs share one file."""

from __future__ import annotations

import subprocess
from pathlib import Path

from programs import python

ROOT = Path(__file__).resolve().parents[2]


def test_bytes_are_linear_in_steps_and_a_hundred_runs_share_a_file():
    script = ROOT / "benchmarks" / "journal_figures.py"
    process = subprocess.run([*python(), str(script)], capture_output=True, text=True)
    print(process.stdout)
    assert process.returncode == 0, process.stdout + process.stderr
    assert "| 100 | 100 | 100 |" in process.stdout
