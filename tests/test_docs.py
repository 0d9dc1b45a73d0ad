"""Every Python snippet of the README and the docs runs, and uses documented names only."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from programs import run_programs

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
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
    assert len(done) > 40


VALUES = {"result", "paused", "step", "waiting", "model", "server", "record", "agent", "event", "request"}
"""The variables of the programs that hold values of Treadle."""


def test_every_name_is_in_the_reference():
    """What a program uses can be found without a look into the source."""
    documented = "\n".join(page.read_text("utf-8") for page in sorted((ROOT / "docs" / "reference").glob("*.md")))
    used = {name for _, program in snippets() for name in names_of_treadle(program)}
    assert len(used) > 100
    assert {name for name in used if not re.search(rf"\b{re.escape(name)}\b", documented)} == set()


def names_of_treadle(program: str) -> set[str]:
    """What a program imports from Treadle, the keywords it gives to that, and what it reads of its values."""
    tree = ast.parse(program)
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("treadle")
        for alias in node.names
    }
    used = set(imported)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            owner = node.func.value if isinstance(node.func, ast.Attribute) else node.func
            if isinstance(owner, ast.Name) and owner.id in imported | VALUES:
                used |= {keyword.arg for keyword in node.keywords if keyword.arg}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in VALUES:
            used.add(node.attr)
    return used - {"should_exit"}  # of uvicorn's server
