"""The core install stays small: at most 14 distributions and 32 MB, the library itself included, compiled files not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "benchmarks" / "install_size.py"


@pytest.mark.slow
def test_core_install_is_small():
    done = subprocess.run([sys.executable, SCRIPT, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    names = sorted(row["name"] for row in found["distributions"])
    assert "treadle" in names
    assert not {"pip", "setuptools"} & set(names)
    assert len(names) <= 14, names
    assert round(sum(row["bytes"] for row in found["distributions"]) / 1e6) <= 32  # as the README says it
