"""docs/security.md: every attack of its tables names a test that exists."""

from __future__ import annotations

import re

import pytest

from named_tests import ROOT, check_row

PAGE = ROOT / "docs" / "security.md"
TEXT = PAGE.read_text("utf-8")
SECTIONS = {
    title: body
    for title, body in re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    if "| attack | what happens | test |\n" in body
}
TABLES = re.findall(r"^\| attack \| what happens \| test \|\n\|[-|]+\|\n((?:\| .*\n)*)", TEXT, re.MULTILINE)
ROWS = [line for table in TABLES for line in table.splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:60])
def test_every_attack_names_its_test(row: str):
    check_row(row)


def test_the_page_has_a_table_for_each_subject():
    assert set(SECTIONS) >= {
        "Approvals",
        "Arguments and text",
        "Injected instructions (provenance)",
        "Sandboxes",
        "Budgets and ends",
        "Hostile input",
        "Secrets",
        "Server",
    }
    assert len(ROWS) > 40
