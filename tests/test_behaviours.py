"""docs/behaviours.md: every behaviour names a test that exists; every test of tests/behaviours is on the page."""

from __future__ import annotations

import re

import pytest

from named_tests import NAMED, ROOT, check_row, names_of_tests, rows_of
from treadle import presets

PAGE = ROOT / "docs" / "behaviours.md"
ROWS = rows_of(PAGE)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2:60])
def test_every_behaviour_is_shown_by_a_test(row: str):
    check_row(row)


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
    for name in set(presets.names()) - {"default", "code", "coding", "research"}:
        assert f"`{name}`" in headings
