"""Bytes on disk grow with the steps and with nothing else; a hundred runs share one file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.timeout(900)
def test_bytes_are_linear_in_steps_and_a_hundred_runs_share_a_file():
    done = subprocess.run([sys.executable, ROOT / "benchmarks/journal_figures.py"], capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| 100 | 100 | 100 |" in done.stdout
