"""The sandboxes' tests once more as an ordinary user, where all tests run as root: namespaces differ for the two."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from ordinary_user import ROOT, as_ordinary_user, is_root

HERE = Path(__file__)
WITHOUT_NAMESPACES = ("test_monty.py", "test_tree.py", HERE.name)
FILES = [path for path in sorted(HERE.parent.glob("test_*.py")) if path.name not in WITHOUT_NAMESPACES]
SQL = ROOT / "tests" / "tools" / "builtin" / "sql" / "test_process.py"
LIMITED = [f"{SQL}::{name}" for name in ("test_a_sort_does_not_fill_the_disk", "test_duckdb_has_little_memory")]
"""What a process of the SQL tools may not do: the kernel treats both users alike in the rest."""


if is_root():  # otherwise the tests in the other files are these tests, and there is nothing to add

    def test_as_an_ordinary_user():
        tests = [
            "-m",
            "pytest",
            *map(str, FILES),
            *LIMITED,
            "-v",
            "--assert=plain",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
        ]
        with as_ordinary_user(sys.executable, *tests) as command:
            done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
        passed = set(re.findall(r"^(\S+\.py) ", done.stdout, re.MULTILINE))
        assert passed >= {str(path.relative_to(ROOT)) for path in (*FILES, SQL)}, done.stdout
