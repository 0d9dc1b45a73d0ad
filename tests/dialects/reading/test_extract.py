"""JSON found in a text, and how it was read."""

from __future__ import annotations

import pytest

from kit import row
from treadle._dialects.reading.extract import extract_json, repair, strict, unfenced


def test_extract_json():
    for text, value, how in [
        ('{"a": 1}', {"a": 1}, "strict"),
        (" [1, 2]\n", [1, 2], "strict"),
        ("42", 42, "strict"),
        ("null", None, "strict"),
        ('"{\\"a\\": 1}"', {"a": 1}, "strict"),
        ('```json\n{"a": 1}\n```', {"a": 1}, "lenient"),
        ('Sure! {"a": 1} Bye.', {"a": 1}, "lenient"),
        ('See [1] and {x}: {"a": 1}', {"a": 1}, "lenient"),
        ('<think>{"b": 2}</think>{"a": 1}', {"a": 1}, "lenient"),
        ('{"a": 1} {"b": 2}', {"a": 1}, "lenient"),
        ("{'a': True, b: None, /* c */ 'd': (1, 2),}", {"a": True, "b": None, "d": [1, 2]}, "lenient"),
        ('{"a": "it\\\'s\\d", "b": "x\ny"}', {"a": "it's\\d", "b": "x\ny"}, "lenient"),
        (
            '{"a": "\\ud83d\\ude00 \\ud800 \\x41", "n": 1_000, "f": .5, "g": 1.,}',
            {"a": "😀 \ufffd A", "n": 1000, "f": 0.5, "g": 1.0},
            "lenient",
        ),
        ("['a', [1], {'b': 2}]", ["a", [1], {"b": 2}], "lenient"),
        ('{"a": [1, {"b": 2}', {"a": [1, {"b": 2}]}, "repaired"),
        ('{"a": "say "hi" now", "b": 2}', {"a": 'say "hi" now', "b": 2}, "repaired"),
    ]:
        with row(text, value, how):
            assert extract_json(text) == (value, how)


def test_extract_json_raises_when_there_is_none():
    for text in ["", "no JSON", "{city}", "{", '{"a": "cut', '{"a": 12', '{"a": [1,', "<think>{}"]:
        with row(text), pytest.raises(ValueError, match="JSON"):
            extract_json(text)


def test_extract_json_closes_nothing_that_was_cut():
    assert extract_json('{"a": [1]') == ({"a": [1]}, "repaired")
    with pytest.raises(ValueError, match="cut off"):
        extract_json('{"a": [1]', cut=True)


def test_json_nested_too_deep_is_not_read():
    assert strict("[" * 60 + "]" * 60) is not None
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        deep = opening * 80 + "1" + closing * 80
        assert strict(deep) is None
        assert strict(opening * 20 + "1" + closing * 20) is not None
    assert strict("[{}]" + " " * 5) == [{}]
    assert strict(f"[{', '.join(['[]'] * 100)}]") == [[]] * 100, "many values side by side are not deep"


def test_a_fence_is_removed_only_when_it_is_all_there_is():
    assert unfenced("```json\n[1]\n```") == "[1]"
    assert unfenced("```\n[1]") == "[1]"
    assert unfenced("a ```json\n[1]\n```") == "a ```json\n[1]\n```"


def test_repair_leaves_alone_what_is_long_deep_unbalanced_or_followed_by_text():
    assert repair('{"a": "b" "c"}', 0)
    for text in ('{"a": "b" "c"', '{"a" "b"} and so on', "{" + '"a" "b" ' * 2000 + "}", "[" * 40 + "x y" + "]" * 40):
        assert repair(text, 0) is None, text[:40]
