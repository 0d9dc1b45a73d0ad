"""Finding files and lines, with ripgrep where it is there and with grep where it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit import go
from treadle import ToolError
from treadle._workspace.tools.bench import Bench
from treadle._workspace.tools.search import glob, grep, matcher
from workspace.machines import HAS_BWRAP, FolderMachine

FITS = [
    ("*.py", "src/a.py", True),
    ("*.py", "a.pyc", False),
    ("src/*.py", "src/a.py", True),
    ("src/*.py", "src/b/a.py", False),
    ("src/**/*.py", "src/a.py", True),
    ("src/**/*.py", "src/b/c/a.py", True),
    ("**", "src/a.py", True),
    ("*.{js,ts}", "x/a.ts", True),
    ("*.{js,ts}", "a.tsx", False),
    ("a[0-9].py", "a7.py", True),
    ("a[!0-9].py", "a7.py", False),
    ("?.py", "ab.py", False),
    ("a+b(c).txt", "a+b(c).txt", True),
    ("{a,b", "a", True),
    ("{src,x{y,z}}/*", "xz/a", True),
    ("**/a/**/b/*", "a/c/b/d/b/e", True),
    ("**/a/**/b/*", "a/c/b/d/e", False),
    ("**/" * 60 + "b", "a/" * 200 + "c", False),
    ("*a" * 60 + "b", "a" * 250, False),
]


def test_patterns_of_paths():
    wrong = [(pattern, path) for pattern, path, fits in FITS if bool(matcher(pattern)(path)) != fits]
    assert wrong == []
    with pytest.raises(ToolError, match="simpler"):
        matcher("{a,b}" * 50)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    for name, text in {
        "src/a.py": "import os\ndef area(w):\n    return w\n",
        "src/b.js": "function area() {}\n",
        "README.md": "Area of things\n",
        ".git/config": "area\n",
        "node_modules/x/a.py": "area\n",
        "data.bin": "\0area",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Bench(FolderMachine(tmp_path, isolated=HAS_BWRAP))


def test_files_and_lines_are_found(bench: Bench):
    assert glob(bench, "**/*.py", "") == "src/a.py"
    assert glob(bench, "*.js", "src") == "src/b.js"
    assert glob(bench, "*.rs", "") == "no file fits"

    async def main() -> list[str]:
        return [
            await grep(bench, r"def \w+\(", "", "", "lines", 0, False),
            await grep(bench, r"area", "", "*.py", "files", 0, False),
            await grep(bench, r"^area", "", "", "files", 0, True),
            await grep(bench, r"\d{9}", "", "", "lines", 0, False),
            await grep(bench, r"area", "src", "", "counts", 0, False),
            await grep(bench, r"--version", "", "", "lines", 0, False),
        ]

    lines = go(main())
    assert lines == [
        "src/a.py:2:def area(w):", "src/a.py", "README.md", "nothing fits", "src/a.py:1\nsrc/b.js:1", "nothing fits",
    ]  # fmt: skip
    with pytest.raises(ToolError):
        go(grep(bench, "(", "", "", "lines", 0, False))
    with pytest.raises(ToolError):
        go(grep(bench, "x", "../", "", "lines", 0, False))
