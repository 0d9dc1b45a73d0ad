"""Values as text for people."""

from __future__ import annotations

import pytest

from treadle import Usage
from treadle._cli.display.text import (
    arguments,
    clean,
    count,
    duration,
    few_lines,
    last_lines,
    one_line,
    plural,
    seconds,
    spent,
)


@pytest.mark.parametrize("text", ["90", "15m", "12h", "30d", "4w", "1.5h"])
def test_durations(text: str):
    assert duration(text) == {"90": 90, "15m": 900, "12h": 43200, "30d": 2592000, "4w": 2419200, "1.5h": 5400}[text]


@pytest.mark.parametrize("text", ["", "soon", "-1", "3y", "1 2"])
def test_what_is_not_a_duration(text: str):
    with pytest.raises(ValueError, match="is not a duration"):
        duration(text)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]52;c;ZXZpbA==\x1b\\clip", "clip"),
        ("\x1b]0;never ended", ""),
        ("a\u202eb\u2066c", "abc"),
        ("bell\x07 back\x08 \x9b31m", "bell back 31m"),
        ("one\r\ntwo\rthree\ttab", "one\ntwo\nthree\ttab"),
    ],
)
def test_control_sequences_are_removed(text: str, cleaned: str):
    assert clean(text) == cleaned


def test_texts_are_cut():
    assert one_line(" a \n b ", 10) == "a b"
    assert one_line("abcdef", 4) == "abc…"
    assert few_lines("1\n2\n3", 2) == ["1", "2", "… 1 more line"]
    assert few_lines("1\n2\n3\n4", 2) == ["1", "2", "… 2 more lines"]
    assert few_lines("1\n2\n", 2) == ["1", "2"]
    assert last_lines("first\nabcd\nef", 2, 4) == ["abcd", "ef"]


def test_arguments_of_a_call():
    assert arguments({}, 50) == ""
    assert arguments({"path": "a.txt"}, 50) == "a.txt"
    assert arguments({"a": 1, "b": [2, 3]}, 50) == "a: 1, b: [2,3]"


def test_numbers():
    assert [seconds(value) for value in (0.25, 5, 59.94, 61, 3700)] == [
        "250 ms",
        "5.0 s",
        "59.9 s",
        "1 min 1 s",
        "1 h 1 min",
    ]
    assert [count(value) for value in (9999, 12_345, 3_400_000)] == ["9999", "12k", "3.4M"]
    assert [plural(value, "step") for value in (0, 1, 2)] == ["0 steps", "1 step", "2 steps"]
    assert spent(Usage(10, 5)) == "15 tokens"
    assert spent(Usage(10, 5, 4, cost=0.25)) == "15 tokens (4 cached) · $0.2500"
