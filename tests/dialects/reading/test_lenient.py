"""The lenient parser says what was left open."""

from __future__ import annotations

import pytest

from kit import row
from treadle._dialects.reading.lenient import LenientParser, parse_all
from treadle._dialects.reading.parsed import UnreadableJson


def test_the_lenient_reader_says_what_is_open():
    unclosed = LenientParser('{"a": {"b": 1}').parse(0)
    assert unclosed.value == {"a": {"b": 1}}
    assert unclosed.all_values
    assert id(unclosed.value) in unclosed.open
    assert id(unclosed.value["a"]) not in unclosed.open
    for text in ('{"a": "x', '{"a": 1', '{"a": tru', '{"a": 1,', '{"a":', '{"a"', "{", '{"a": {', '{"a": "\\'):
        parsed = LenientParser(text).parse(0)
        assert not parsed.all_values, text
        assert parsed.value in ({}, {"a": 1}, {"a": {}}), text
    assert LenientParser('{"a": "half').parse(0).partial == ("a", "half")
    for text in ("{a}", "[x]", '{"a" 1}', '{"a": 1 "b": 2}', "{]", '{"a": 1e999}', "{" * 70, '{"a": NaN}'):
        with pytest.raises(UnreadableJson):
            LenientParser(text).parse(0)


def test_python_calls():
    for text, calls in [
        ("f()", [("f", [], {})]),
        ("f(1, a=2)", [("f", [1], {"a": 2})]),
        ("[f(a='x'), g.h(b=[1])]", [("f", [], {"a": "x"}), ("g.h", [], {"b": [1]})]),
        ("[f(a=1); g()]", [("f", [], {"a": 1}), ("g", [], {})]),
        ("f(True) and more", [("f", [True], {})]),
    ]:
        with row(text, calls):
            assert LenientParser(text).parse_calls(0).value == calls


def test_a_python_call_that_was_cut_is_left_open():
    for text in ("f(a=1", "f(a=", "f(", "[f(a='x"):
        parsed = LenientParser(text).parse_calls(0)
        assert not parsed.all_values
        assert id(parsed.value[0].named) in parsed.open
    assert not LenientParser("[f(), ").parse_calls(0).closed
    for text in ("1(a=2)", "f a", "f(1 2)"):
        with pytest.raises(UnreadableJson):
            LenientParser(text).parse_calls(0)


def test_a_text_that_is_nothing_but_one_value():
    assert parse_all('{"a": 1}') == {"a": 1}
    assert parse_all("{'a': 1,} ") == {"a": 1}
    for text in ("{'a': 1} x", "{'a': 1", "x"):
        with pytest.raises(UnreadableJson):
            parse_all(text)
