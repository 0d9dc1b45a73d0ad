"""Every Python snippet of the README and the docs runs."""

from __future__ import annotations

import re
from pathlib import Path

from programs import run_programs

ROOT = Path(__file__).resolve().parent.parent
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


def test_snippets(tmp_path: Path):
    done = run_programs(dict(snippets()), tmp_path)
    failed = [f"{where}\n{ran.out}{ran.err}" for where, ran in done.items() if ran.code]
    assert failed == [], "\n".join(failed)
    assert len(done) > 50
