"""docs/security.md: every attack of its lists names a test that exists."""

from __future__ import annotations

import re

import pytest

from named_tests import ROOT, check_row, rows_of

PAGE = ROOT / "docs" / "security.md"
ROWS = rows_of(PAGE, "- **")
SECTIONS = {
    title
    for title, body in re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    if "\n- **" in body
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[4:60])
def test_every_attack_names_its_test(row: str):
    check_row(row)


def test_the_page_has_a_list_for_each_subject():
    assert {
        "Approvals",
        "Arguments and text",
        "Injected instructions (provenance)",
        "Sandboxes",
        "Budgets and ends",
        "Hostile input",
        "Secrets",
        "Server",
    } <= SECTIONS
    assert len(ROWS) > 40
