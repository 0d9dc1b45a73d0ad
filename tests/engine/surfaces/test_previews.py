"""Small previews of files: what they are, and the first rows of a table."""

from __future__ import annotations

import pytest

from treadle import Artifact
from treadle._engine.surfaces.previews import contents, described, rows_of


def test_a_file_is_described_by_its_kind_and_size():
    assert described(Artifact("a.txt", "é", "text/plain")) == "text/plain, 2 bytes"
    assert described(Artifact("a.bin", "x" * 20_000, "text/plain")) == "text/plain, 20 kB"
    assert contents(Artifact("a.png", "not base64!", "image/png", base64=True)) == b""


@pytest.mark.parametrize(
    ("text", "mime", "rows"),
    [
        ("a,b\n1,2\n", "text/csv; charset=utf-8", [["a", "b"], ["1", "2"]]),
        ("a\tb\n", "text/tab-separated-values", [["a", "b"]]),
        ("x" * 30 + "\n", "text/csv", [["x" * 23 + "…"]]),
        ('"' + "x" * 200_000, "text/csv", [["x" * 23 + "…"]]),
        ("a,b\n", "text/html", []),
    ],
)
def test_a_table_gives_its_first_rows(text: str, mime: str, rows: list[list[str]]):
    assert rows_of(Artifact("t", text, mime)) == rows
