"""docs/reference/protocols.md: every cell of the table names a test that exists, or says why there is none."""

from __future__ import annotations

import re

import pytest

from named_tests import NAMED, ROOT, check_row
from treadle._server.app import OPERATIONS

PAGE = (ROOT / "docs" / "reference" / "protocols.md").read_text("utf-8")
HEAD, *ROWS = re.findall(r"^\| (?:protocol \| stream|`POST|MCP).*$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_every_cell_names_its_test(row: str):
    check_row(row)
    cells = [cell.strip() for cell in row.strip("|").split("|")][1:]
    assert len(cells) == HEAD.count("|") - 2
    for cell in cells:
        assert cell.startswith("no: ") or NAMED.fullmatch(cell), cell


def test_every_protocol_has_its_row():
    tags = {"openai", "anthropic", "ag-ui", "vercel", "a2a"}
    paths = {operation.path for operation in OPERATIONS if operation.tag in tags and operation.method == "POST"}
    paths = {path for path in paths if not re.search("{response_id}|count_tokens", path)}  # those ask nothing
    assert {path for path in paths if not any(f"`POST {path}`" in row for row in ROWS)} == set()
