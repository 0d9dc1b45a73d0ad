"""Calls in the markup of open models are read under every dialect."""

from __future__ import annotations

from itertools import product
from typing import Any

from dialects.samples import CALL, MARKUP, NAMES, TOOLS, decode, executable
from kit import row
from treadle._dialects.reading.markup import read_markup
from treadle._dialects.reading.reply import by_name


def test_markup():
    for dialect, kind in product(NAMES, MARKUP):
        with row(dialect, kind):
            assert executable(decode(dialect, MARKUP[kind])) == CALL


def test_markup_after_prose():
    for dialect, kind in product(
        NAMES, [kind for kind in MARKUP if kind not in ("pythonic", "pythonic, by place", "harmony")]
    ):
        with row(dialect, kind):
            decision = decode(dialect, "I will look it up. " + MARKUP[kind])
            assert executable(decision) == CALL
            assert decision.thought == "I will look it up."


def calls_of(text: str, *, cut: bool = False) -> list[tuple[str, dict[str, Any], str]] | None:
    markup = read_markup(text, by_name(TOOLS), cut=cut)
    return None if markup is None else [(call.name, call.args, call.problem) for call in markup.calls]


def test_text_without_a_marker_has_no_markup():
    assert calls_of("plain") is None
    assert calls_of("a <b> c") is None


def test_a_parameter_given_twice_is_a_problem():
    twice = "<function=search><parameter=query>a</parameter><parameter=query>b</parameter></function>"
    assert calls_of(twice) == [("search", {}, "an argument is given twice")]


def test_a_missing_closing_tag_is_forgiven_unless_the_reply_was_cut():
    text = "<function=search><parameter=query>red pandas</function>"
    assert calls_of(text) == [("search", {"query": "red pandas"}, "")]
    assert calls_of(text, cut=True) == [("search", {}, "the arguments are not complete")]
    assert calls_of("<function=search><parameter=query>red") == [("search", {}, "the arguments are not complete")]


def test_character_data_is_taken_as_it_is():
    text = "<function=search><parameter=query><![CDATA[a </parameter> b]]></parameter></function>"
    assert calls_of("<function=search><parameter=query><![CDATA[a < b]]></parameter></function>") == [
        ("search", {"query": "a < b"}, "")
    ]
    assert calls_of(text) is not None


def test_a_name_that_is_no_name_is_not_a_call():
    assert calls_of("<function=1+1>{}</function>") == []
    assert calls_of('<|tool_call>call:search{query:<|"|>red') == [("search", {}, "the arguments are not complete")]


def test_several_calls_after_one_marker():
    text = '<tool_call>{"name": "now", "arguments": {}}; {"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>'
    assert calls_of(text) == [("now", {}, ""), ("add", {"a": 1, "b": 2}, "")]
    assert calls_of('<tool_call>{"name": "now", "arguments": {}} {"x": 1}</tool_call>') == [("now", {}, "")]
