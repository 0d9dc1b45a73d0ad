"""Checks: what passes, what does not, and which problems are reported."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import pytest

from treadle._inspect.evals.checks import (
    Check,
    RecordedCall,
    contains,
    evaluate_check,
    exact_match,
    f1,
    numbers_in,
    plain,
    same,
)


def check(**fields: Any) -> Check:
    return msgspec.convert(fields, Check)


def problems(fields: dict[str, Any], answer: str = "", *calls: str | RecordedCall) -> tuple[str, ...]:
    recorded = [RecordedCall(call) if isinstance(call, str) else call for call in calls]
    return evaluate_check(check(**fields), answer, recorded).problems


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It is 395.", ["395"]),
        ("1,234.50 EUR", ["1234.50"]),
        ("1\u202f234 and 5'000", ["1234", "5000"]),
        ("-4 degrees, \u22127 at night, minus 9 tomorrow", ["-4", "-7", "-9"]),
        ("2026-03-06", ["2026", "03", "06"]),
        ("1,2,3", ["1", "2", "3"]),
        ("about twelve or seven", ["12", "7"]),
        ("E48 and x2", []),
        ("someone", []),
        ("", []),
    ],
)
def test_numbers(text: str, numbers: list[str]):
    assert numbers_in(text) == [Decimal(number) for number in numbers]


@pytest.mark.parametrize(
    ("answer", "expected", "is_there"),
    [
        ("The total is 48.50 EUR", 48.5, True),
        ("The total is 48.5", 48.50, True),
        ("The total is 48.51", 48.5, True),  # rounded to the digits that were asked for
        ("The total is 48.58", 48.5, False),
        ("It is 1,710 km", 1710, True),
        ("It is 17100 km", 1710, False),
        ("It is 6.0", 6, True),
        ("It is 6.4", 6, False),
        ("There are six of them", 6, True),
        ("It is sixty", 6, False),
        ("Dora  NOVAK!", "dora novak", True),
        ("the SKU is B-077.", "B-077", True),
        ("the SKU is B-0771.", "B-077", False),
        ("nothing", "no", False),
        ("leipa\u0308", "leipä", True),
        ("", "x", False),
    ],
)
def test_contains(answer: str, expected: Any, is_there: bool):
    assert contains(answer, expected) is is_there


def test_near():
    expected = {"answer_contains": [{"number": 8.05, "within": 0.01}]}
    assert not problems(expected, "8.0467 km")
    assert not problems(expected, "8.06 km")
    assert problems(expected, "8.07 km") == ("the answer lacks 8.05 (within 0.01)",)


def test_plain():
    assert plain("  Hello,\n WORLD (3.5) _x_. ") == "hello world 3.5 x"


def test_answers():
    assert not problems({"answer_contains": ["Rome", 3]}, "Rome has three")
    assert problems({"answer_contains": ["Rome", 3]}, "Paris") == ("the answer lacks 'Rome'", "the answer lacks 3")
    assert problems({"answer_lacks": "sorry"}, "Sorry, no") == ("the answer has 'sorry'",)
    assert not problems({"answer_regex": "^cancel"}, "Cancelled")
    assert problems({"answer_regex": "^cancel"}, "not cancelled") == ("the answer does not match ^cancel",)


def test_tools_called():
    exact = {"tools_called": {"exact": {"a": 2}}}
    assert not problems(exact, "", "a", "a")
    assert problems(exact, "", "a") == ("called a, not exactly a x2",)
    assert problems(exact, "", "a", "a", "b")
    least = {"tools_called": {"at_least": {"a": 1, "b": 1}}}
    assert not problems(least, "", "b", "a", "a", "c")
    assert problems(least, "", "a") == ("called a, not at least b",)
    none = {"tools_called": {"none": True}}
    assert not problems(none)
    assert problems(none, "", "a") == ("no tool was needed, called: a",)
    order = {"tools_called": {"order": ["a", "b", "a"]}}
    assert not problems(order, "", "a", "c", "b", "a")
    assert problems(order, "", "a", "b") == ("called a, b, not a, then b, then a",)
    assert problems({"tools_called": {"exact": {}}}, "", "a") == ("called a, not exactly nothing",)


def test_arguments():
    expected = {"args": [{"tool": "ship", "args": {"kg": 2.5, "to": "France"}}]}
    assert not problems(expected, "", "other", RecordedCall("ship", {"kg": "2.5", "to": " france", "more": 1}))
    assert problems(expected, "", RecordedCall("ship", {"kg": 2, "to": "France"})) == (
        "no call ship(kg=2.5, to='France')",
    )
    assert problems(expected, "", RecordedCall("other", {"kg": 2.5, "to": "France"}))
    assert problems(expected, "", RecordedCall("ship", {"kg": 2.5}))


@pytest.mark.parametrize(
    ("given", "expected", "equal"),
    [
        (3, 3.0, True), ("3", 3, True), ("3 kg", 3, True), ("3 of 4", 3, False), (-14, -14, True),
        (True, 1, False), (1, True, False), (True, True, True), (None, None, True), ("None", None, False),
        ([1, "A"], ["1", "a"], True), ([1], [1, 2], False), ({"a": 1}, {"a": 1}, True), ("E 35", "e35", False),
    ],
)  # fmt: skip
def test_same(given: Any, expected: Any, equal: bool):
    assert same(given, expected) is equal


def test_steps_and_combinations():
    assert problems({"max_steps": 1}, "", "a", "a") == ("2 tool calls, at most 1 allowed",)
    either = {"any": [{"answer_contains": "yes"}, {"all": [{"answer_contains": "no"}, {"max_steps": 0}]}]}
    assert not problems(either, "yes", "a")
    assert not problems(either, "no")
    assert problems(either, "no", "a") == (
        "none of the 2 alternatives holds; the last: 1 tool calls, at most 0 allowed",
    )
    assert problems({"all": [{"answer_contains": 1}, {"answer_contains": 2}]}, "2") == ("the answer lacks 1",)


def test_hotpot_measures():
    assert exact_match("The Beatles!", "beatles")
    assert not exact_match("the Beatles band", "Beatles")
    assert f1("the Beatles band", "Beatles") == pytest.approx(2 / 3)
    assert f1("yes", "no") == f1("yes it is", "yes") == f1("", "x") == 0.0
    assert f1("yes", "yes") == 1.0
    verdict = evaluate_check(check(answer_equals="Paris"), "Paris, France", [])
    assert not verdict.passed
    assert verdict.scores == {"exact_match": 0.0, "f1": pytest.approx(2 / 3)}


def test_unknown_fields_are_refused():
    with pytest.raises(msgspec.ValidationError):
        check(answer_contain="x")


def test_a_very_long_answer_is_cut():
    assert not evaluate_check(check(answer_contains="end"), "x " * 20_000 + "end", []).passed
