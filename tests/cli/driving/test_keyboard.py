"""Keys become lines."""

from __future__ import annotations

import pytest

from treadle._cli.driving.keyboard import LineBuffer


@pytest.mark.parametrize(
    ("keys", "lines", "rest"),
    [
        ("hello\n", ["hello"], ""),
        ("one\r\ntwo\rthree", ["one", "two"], "three"),
        ("euross\x7f?", [], "euros?"),
        ("\x7f\x7f", [], ""),
        ("some words\x17", [], "some "),
        ("some words \x17", [], "some "),
        ("forget this\x15kept", [], "kept"),
        ("\x1b[A\x1b[1;5Cx\x1bOPy", [], "xy"),
        ("\x04", ["/quit"], ""),
        ("typed\x04", [], "typed"),
        (" \n\n", [], ""),
        ("tab\tand é\x01\x02", [], "tab\tand é"),
    ],
)
def test_editing(keys: str, lines: list[str], rest: str):
    buffer = LineBuffer()
    assert buffer.feed(keys) == lines
    assert buffer.text == rest


def test_a_line_may_come_in_pieces():
    buffer = LineBuffer()
    assert [buffer.feed(key) for key in "hi\n"] == [[], [], ["hi"]]
