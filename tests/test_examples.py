"""Every example runs to its end, and none is long."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parent.parent / "examples").glob("[0-9]*.py"))
NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "examples").glob("[0-9]*.ipynb"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path, tmp_path: Path):
    assert len(path.read_text("utf-8").splitlines()) <= 60
    env = {**os.environ, "TREADLE_STATE": str(tmp_path), "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True, timeout=120, env=env
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_examples_have_numbers_of_their_own():
    numbers = [int(path.stem[:2]) for path in (*EXAMPLES, *NOTEBOOKS)]
    assert len(set(numbers)) == len(numbers) >= 10
