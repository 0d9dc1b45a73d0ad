"""Every Python snippet of the README and the docs runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = os.environ.get("PYTHONPATH", "")
TESTED_ELSEWHERE = {"first_hour.md"}
"""Pages whose programs are run, and more, by tests of their own."""
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.name not in TESTED_ELSEWHERE),
]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def snippets() -> list[tuple[str, str]]:
    blocks: list[tuple[str, str]] = []
    for page in PAGES:
        text = page.read_text("utf-8")
        for block in BLOCK.finditer(text):
            line = text[: block.start()].count("\n") + 1
            blocks.append((f"{page.relative_to(ROOT).as_posix()}:{line}", block.group(1)))
    return blocks


@pytest.mark.parametrize(("where", "code"), snippets(), ids=[where for where, _ in snippets()])
def test_snippet(where: str, code: str, tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60,
        env={"PATH": "", "HOME": str(tmp_path), "TREADLE_STATE": str(tmp_path), "PYTHONPATH": SOURCES},
    )  # fmt: skip
    assert done.returncode == 0, f"{where}\n{done.stdout}{done.stderr}"


def test_there_are_snippets():
    assert len(snippets()) >= 2
