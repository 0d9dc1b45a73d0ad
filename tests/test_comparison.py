"""docs/comparison.md: what it says of Treadle is shown by a test, and what it says of others has a source."""

from __future__ import annotations

import re

import pytest

from named_tests import ROOT, check_row, rows_of

PAGE = ROOT / "docs" / "comparison.md"
TEXT = PAGE.read_text("utf-8")
ROWS = rows_of(PAGE, "feature")
ENGINES = 13


def cells_of(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip()[1:-1].split("|")]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:60])
def test_every_yes_of_ours_names_its_test(row: str):
    _, ours, test, *others = cells_of(row)
    if ours == "yes":
        check_row(row)
    else:
        assert ours.startswith("no")
        assert test == "none"
    assert len(others) == ENGINES


SOURCES = re.findall(r"^(\d+)\. ", TEXT, re.MULTILINE)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:60])
def test_no_cell_is_empty_and_every_word_about_others_has_a_source_or_was_measured(row: str):
    for cell in cells_of(row)[3:]:
        if cell == "not found":
            continue
        assert re.match(r"(yes|no|partly)\b", cell), f"neither yes nor no nor partly: {cell!r}"
        cited = re.findall(r"\[(\d+)\]", cell)
        assert cited or "measured" in cell, f"without a source: {cell!r}"
        assert all(number in SOURCES for number in cited), f"a source that is not in the list: {cell!r}"


def test_the_sources_are_numbered_and_each_is_used():
    assert [str(number) for number in range(1, len(SOURCES) + 1)] == SOURCES
    cited = {number for row in ROWS for number in re.findall(r"\[(\d+)\]", row)}
    assert cited == set(SOURCES)


def test_there_are_thirteen_engines_beside_ours():
    head = next(line for line in TEXT.splitlines() if line.startswith("| feature"))
    assert len(cells_of(head)) == 3 + ENGINES
    assert all(re.fullmatch(r".+ \d+(\.\d+)+", cell) for cell in cells_of(head)[3:]), "each with its version"
