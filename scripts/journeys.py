"""Writes docs/journeys.md: every journey of tests/journeys/, its steps, and the surfaces it is walked on.

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
    walked: dict[str, dict[str, list[str]]] = {}
    for path in sorted((ROOT / "tests" / "journeys").glob("test_*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and (named := _named(node)) is not None:
                title, surface = named
                walked.setdefault(title, {})[surface] = _steps(node)
    rows = [
        f"| {title} | {' | '.join('●' if surface in on else '' for surface in SURFACES)} |"
        for title, on in sorted(walked.items(), key=lambda one: (-len(one[1]), one[0]))
    ]
    steps = [
        f"**{title}**, {surface}\n\n" + "\n".join(f"1. {words}" for words in on[surface])
        for title, on in sorted(walked.items())
        for surface in SURFACES
        if surface in on
    ]
    head = (
        "<!-- Written by scripts/journeys.py; do not edit. -->\n\n# Journeys\n\n"
        "What a person does from beginning to end, walked from outside by `tests/journeys/`; each ● is a test that\n"
        "has to pass before anything lands.\n"
    )
    table = f"| journey | {' | '.join(SURFACES)} |\n|---|{'---|' * len(SURFACES)}\n" + "\n".join(rows)
    return f"{head}\n{table}\n\n## Their steps\n\n" + "\n\n".join(steps) + "\n"


def _named(node: ast.FunctionDef) -> tuple[str, str] | None:
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "journey":
            return ast.literal_eval(mark.args[0]), ast.literal_eval(mark.keywords[0].value)
    return None


def _steps(node: ast.FunctionDef) -> list[str]:
    found: list[str] = []
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id == "step":
            words = inner.args[0]
            parts = words.values if isinstance(words, ast.JoinedStr) else [words]
            found.append("".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts))
    return found


if __name__ == "__main__":
    PAGE.write_text(matrix(), "utf-8")
