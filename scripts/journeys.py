"""Writes docs/journeys.md: every journey of tests/journeys/, and its steps on each surface it is walked on.

python3 scripts/journeys.py
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "journeys.md"
SURFACES = ("terminal", "page", "Python", "HTTP")


def matrix() -> str:
    """Return the page."""
    walked: dict[str, dict[str, int]] = {}
    for path in sorted((ROOT / "tests" / "journeys").glob("test_*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and (named := _named(node)) is not None:
                title, surface = named
                walked.setdefault(title, {})[surface] = _steps(node)
    rows = [
        f"| {title} | {' | '.join(str(on.get(surface, '')) for surface in SURFACES)} |"
        for title, on in sorted(walked.items(), key=lambda one: (-len(one[1]), one[0]))
    ]
    head = (
        "<!-- Written by scripts/journeys.py; do not edit. -->\n\n# Journeys\n\n"
        "What a person does from beginning to end, walked from outside by `tests/journeys/`; each figure is a\n"
        "test with so many steps, each of which says what the person sees. A blank: only the page has a width, a dark\n"
        "side and a reading order, and no names to type; another program is recorded by a command, not from Python.\n"
    )
    table = f"| journey | {' | '.join(SURFACES)} |\n|---|{'---|' * len(SURFACES)}\n" + "\n".join(rows)
    return f"{head}\n{table}\n"


def _named(node: ast.FunctionDef) -> tuple[str, str] | None:
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "journey":
            return ast.literal_eval(mark.args[0]), ast.literal_eval(mark.keywords[0].value)
    return None


def _steps(node: ast.FunctionDef) -> int:
    calls = (inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call))
    return sum(isinstance(function, ast.Name) and function.id == "step" for function in calls)


if __name__ == "__main__":
    PAGE.write_text(matrix(), "utf-8")
