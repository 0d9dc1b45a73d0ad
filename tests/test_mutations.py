"""The mutations that prove docs/behaviours.md: each names a test of a row, and a text that is in the code once.

They are applied by `python3 tasks.py prove behaviours`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from named_tests import NAMED, rows_of

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "behaviours.md"
MUTATIONS = tomllib.loads((ROOT / "benchmarks" / "mutations.toml").read_text("utf-8"))


def test_each_mutation_changes_the_code_of_a_row():
    named = {name for row in rows_of(PAGE) for _, name in NAMED.findall(row)}
    assert set(MUTATIONS) <= named
    sources = {one["file"]: (ROOT / "src" / "treadle" / one["file"]).read_text("utf-8") for one in MUTATIONS.values()}
    assert [name for name, one in MUTATIONS.items() if one["old"] not in sources[one["file"]]] == []
    assert [name for name, one in MUTATIONS.items() if one["old"] == one["new"]] == []
