"""docs/behaviours.md: every behaviour names a test that exists; every test of tests/behaviours is on the page."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from treadle import presets

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "behaviours.md"
ROWS = [
    line
    for line in PAGE.read_text("utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| asked for", "| what"))
]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


@cache
def names_of_tests(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:60])
def test_every_behaviour_is_shown_by_a_test(row: str):
    named = NAMED.findall(row)
    assert named, f"no test is named for: {row}"
    for path, name in named:
        assert (ROOT / path).exists(), f"{path} does not exist"
        assert name in names_of_tests(ROOT / path), f"{path} has no test {name}"


def test_every_test_of_a_behaviour_stands_on_the_page():
    named = {f"{path}::{name}" for row in ROWS for path, name in NAMED.findall(row)}
    folder = ROOT / "tests" / "behaviours"
    written = {
        f"{path.relative_to(ROOT).as_posix()}::{name}"
        for path in folder.glob("test_*.py")
        for name in names_of_tests(path)
    }
    assert written - named == set()


def test_every_preset_of_a_description_has_its_section():
    headings = "\n".join(re.findall(r"^## .*", PAGE.read_text("utf-8"), re.MULTILINE))
    for name in set(presets.names()) - {"default", "code"}:
        assert f"`{name}`" in headings
