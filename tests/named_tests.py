"""Pages of the documentation that name tests: what they name, and whether it exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


@cache
def names_of_tests(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_")
    }


def rows_of(page: Path, beginning: str = "- ") -> list[str]:
    """The items of the page's lists that begin so."""
    return [line for line in page.read_text("utf-8").splitlines() if line.startswith(beginning)]


def check_row(row: str) -> None:
    """The row names at least one test, and each test it names exists."""
    named = NAMED.findall(row)
    assert named, f"no test is named for: {row}"
    for path, name in named:
        assert (ROOT / path).exists(), f"{path} does not exist"
        assert name in names_of_tests(ROOT / path), f"{path} has no test {name}"
