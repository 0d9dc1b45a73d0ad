"""Tables that fit the terminal."""

from __future__ import annotations

import pytest

from treadle._cli.display.table import table


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")


def test_columns_are_aligned():
    lines = table(("NAME", "COUNT"), [["a", "1"], ["the longest", "100"]], stretch=0, right=(1,)).splitlines()
    assert lines == ["NAME         COUNT", "-----------  -----", "a                1", "the longest    100"]


def test_the_widest_column_is_cut():
    lines = table(("ID", "TEXT"), [["1", "word " * 30]]).splitlines()
    assert max(map(len, lines)) == 40
    assert lines[2].endswith("…")


def test_wide_characters_take_two_columns():
    lines = table(("TEXT", "X"), [["日本日本日", "1"], ["abcdefghij", "2"], ["e\u0301", "3"]], stretch=0).splitlines()
    assert lines[2:] == ["日本日本日  1", "abcdefghij  2", "e\u0301           3"]


def test_a_cell_cannot_break_the_table():
    assert "a b" in table(("X",), [["a\nb\x1b[2J"]])


def test_without_room_for_columns_a_row_is_a_few_lines():
    head = ("RUN", "STATUS", "WHEN", "MODEL", "QUESTION")
    question = "Where is the nearest library, and when does it open tomorrow morning, please?"
    lines = table(head, [["8134f931", "answer", "just now", "openai:gpt-5", question], ["x", "", "y", "z", "why?"]])
    assert lines.splitlines() == [
        "RUN · STATUS · WHEN · MODEL",
        "  QUESTION",
        "-" * 40,
        "8134f931 · answer · just now ·",
        "  openai:gpt-5",
        "  Where is the nearest library, and when",
        "  does it open tomorrow morning, please?",
        "x · y · z",
        "  why?",
    ]


def test_half_a_sentence_is_no_column(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "44")
    lines = table(
        ("TOOL", "DEFAULT", "WHAT IT DOES"), [["calculator", "yes", "Work out arithmetic, exactly as written."]]
    )
    assert "  Work out arithmetic, exactly as written." in lines.splitlines()


def test_rows_without_a_head():
    assert table((), [["/help", "show this list"], ["/cost", "what it costs"]]).splitlines() == [
        "/help  show this list",
        "/cost  what it costs",
    ]
    assert table((), []) == ""
    help_lines = table((), [["/help", "show this list, which is longer than the window"]])
    assert help_lines.splitlines() == ["/help", "  show this list, which is longer than", "  the window"]
