"""Files that a message names."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle._cli.chat.mentions import Mentions, mentions_in
from treadle._types.messages import FilePart


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("A")
    (tmp_path / "b c.txt").write_text("BC")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "d").write_text("D")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("what is in @a.txt?", ["a.txt"]),
        ("(@a.txt), and again @a.txt.", ["a.txt"]),
        ('read @"b c.txt" and @sub/d', ["b c.txt", "d"]),
        ("@a.txt", ["a.txt"]),
        ("mail ada@a.txt or me@sub/d", []),
        ("ask @ada about it", []),
        ("look into @sub", []),
        ("an @ alone, and @@a.txt", []),
    ],
)
def test_names_of_files(text: str, files: list[str]):
    mentions = mentions_in(text)
    assert [part.name for part in mentions.parts if isinstance(part, FilePart) and part.text] == files
    assert mentions.missing == ()


@pytest.mark.parametrize(
    ("text", "missing"), [("see @b.txt, please", ("b.txt,",)), ("@sub/none", ("sub/none",)), ('@"x y"', ("x y",))]
)
def test_what_looks_like_a_file_and_is_none_is_said(text: str, missing: tuple[str, ...]):
    assert mentions_in(text).missing == missing


def test_a_resource_of_an_mcp_server_is_no_missing_file():
    assert mentions_in("What is in @shop:docs://a/b.txt?") == Mentions((), ())
