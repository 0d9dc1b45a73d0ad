# ruff: noqa: RUF001 - models write these characters
"""The tokens of lenient JSON: strings, escapes, numbers, literals, comments, and one budget for all."""

from __future__ import annotations

from typing import Any

import pytest

from kit import row
from treadle._dialects.reading.lenient import LenientParser
from treadle._dialects.reading.parsed import UnreadableJson
from treadle._dialects.reading.tokens import MAX_DIGITS, MAX_TOKENS


def value_of(token: str) -> Any:
    return LenientParser(f"[{token}]").parse(0).value[0]


def test_a_token():
    for token, value in [
        ('"a"', "a"),
        ("'it is \"so\"'", 'it is "so"'),
        ("“smart”", "smart"),
        ("‘smart’", "smart"),
        ('"""three "quotes" """', 'three "quotes" '),
        ("'''x'''", "x"),
        (r'"\n\t\r\b\f\/\\"', "\n\t\r\b\f/\\"),
        (r'"\u00e9\x41"', "éA"),
        (r'"\ud83d\ude00"', "😀"),
        (r'"\ud83dx"', "\ufffdx"),
        (r'"\ud83d\u0041"', "\ufffdA"),
        (r'"\ude00"', "\ufffd"),
        (r'"\uZZZZ"', "\\uZZZZ"),
        (r'"\d+"', "\\d+"),
        ('"a\\\nb"', "a\nb"),
        ("1_000", 1000),
        ("-2", -2),
        ("+3", 3),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("True", True),
        ("FALSE", False),
        ("None", None),
        ("undefined", None),
    ]:
        with row(token, value):
            assert value_of(token) == value
            assert value_of(f" /* c */ {token} // c\n# d\n") == value


def test_what_is_not_a_token():
    for token in ["maybe", "1x", "-", "--1", "1e999", "-1e999", "1" * (MAX_DIGITS + 1), "§"]:
        with row(token), pytest.raises(UnreadableJson):
            value_of(token)


def test_a_token_that_the_text_ends_in_is_left_out():
    for text in ['["a', "['''a", '["a\\', '["\\u12', "[12", "[-", "[tru", "[nul", "[abc"]:
        with row(text):
            parsed = LenientParser(text).parse(0)
            assert parsed.value == []
            assert not parsed.all_values


def test_a_tag_or_a_fence_ends_the_json():
    for end in ("</tool_call>", "\n```"):
        parsed = LenientParser('{"a": 1' + end).parse(0)
        assert parsed.value == {"a": 1}
        assert parsed.all_values
        assert not parsed.closed


def test_one_budget_covers_all_attempts_on_a_text():
    parser = LenientParser("[1, x]")
    attempts = 0
    while not parser.exhausted:
        with pytest.raises(UnreadableJson):
            parser.parse(0)
        attempts += 1
    assert attempts < MAX_TOKENS
    with pytest.raises(UnreadableJson):
        LenientParser("[" + "1," * (MAX_TOKENS + 1) + "1]").parse(0)
