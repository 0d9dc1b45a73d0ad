"""Every example runs to its end, and none is long."""

from __future__ import annotations

import json
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


def code_of(notebook: Path) -> list[str]:
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


NOTEBOOK = """
import asyncio, json, sys

async def main():  # a notebook's cells are run inside its event loop
    values = {"__name__": "__main__"}
    for cell in json.loads(sys.stdin.read()):
        exec(compile(cell, "cell", "exec", dont_inherit=True), values)

asyncio.run(main())
"""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path: Path, tmp_path: Path):
    cells = code_of(path)
    assert len(cells) >= 3
    assert sum(cell.count("\n") + 1 for cell in cells) <= 60
    env = {**os.environ, "TREADLE_STATE": str(tmp_path), "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK],
        input=json.dumps(cells),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        env=env,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_examples_have_numbers_of_their_own():
    numbers = [int(path.stem[:2]) for path in (*EXAMPLES, *NOTEBOOKS)]
    assert len(set(numbers)) == len(numbers) >= 10
