"""The sandboxes' tests once more as an ordinary user, where all tests run as root: namespaces differ for the two."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ordinary_user import ROOT, as_ordinary_user, is_root

HERE = Path(__file__)
FILES = [
    *(path for path in sorted(HERE.parent.glob("test_*.py")) if path not in (HERE, HERE.with_name("test_monty.py"))),
    ROOT / "tests" / "tools" / "builtin" / "sql" / "test_process.py",
]


if is_root():  # otherwise the tests in the other files are these tests, and there is nothing to add

    @pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
    def test_as_an_ordinary_user(path: Path):
        tests = ["-m", "pytest", str(path), "-p", "no:cacheprovider", "-p", "no:xdist"]
        with as_ordinary_user(sys.executable, *tests) as command:
            done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
        assert "passed" in done.stdout
