"""Numbers and ids: how they are read, and which of them have a source."""

from __future__ import annotations

from kit import row
from treadle._local.guards.numbers_and_ids import (
    ids,
    mentions,
    numbers,
    told_in_words,
    unsourced_number,
    unsourced_operand,
    uses_nothing_said,
)

TEXT = "4 * 110 of 1,200.50 at 07:50 on 2024-01-02: 3kg, AB17, R-100, 12.5%, 42."


def test_numbers_are_plain_numbers():
    assert [str(number) for number in numbers(TEXT)] == ["4", "110", "1200.50", "3", "12.5", "42"]
    assert numbers("9" * 21) == []


def test_ids_begin_with_a_letter_and_have_a_digit():
    assert ids(TEXT) == ["AB17", "R-100"]
    assert ids("T.2335 G/23/064 03/C 9842/7408 26NL002260") == ["T.2335", "G/23/064", "03/C", "9842/7408", "26NL002260"]
    assert ids("2026-05-03 07:50 3kg 24/7 1/2 4x4 2nd 12.5 1,200") == []


def test_mentions_is_about_whole_words_in_whatever_case():
    for text, value, expected in [
        ("about ab-17.", "AB17", True),
        ("about AB17", "ab 17", True),
        ("about AB178", "AB17", False),
        ("about XAB17", "AB17", False),
        ("C++ (2)", "c2", False),
        ("anything", "--", False),
    ]:
        with row(text, value, expected):
            assert mentions(text, value) is expected


def test_a_number_has_a_source_or_follows_from_two():
    for text, sources, unsourced in [
        ("It costs 440.", ["71.50", "4 nights"], "440"),
        ("It costs 286.", ["71.50", "4 nights"], ""),
        ("It costs 71.5", ["71.50"], ""),
        ("75.50 with tax", ["71.50", "4"], ""),
        ("67.5 off", ["71.50", "4"], ""),
        ("17.88 each", ["71.50", "4"], ""),
        ("90 minutes", ["1.5 hours"], ""),
        ("44, then 45", ["44"], "45"),
        ("44", ["0", "7"], "44"),
        ("7 days, 24 hours, 365 days", [], ""),
        ("no numbers", [], ""),
        ("44", [], "44"),
        ("9" * 400, [], ""),
        ("999", [" ".join(str(number * 7919) for number in range(100))], ""),
    ]:
        with row(text, sources, unsourced):
            assert unsourced_number(text, sources) == unsourced


def test_only_the_first_numbers_of_a_long_text_are_checked():
    many = " ".join(["44"] * 60)
    assert unsourced_number(f"{many} 97", ["44"]) == ""
    assert unsourced_number(f"97 {many}", ["44"]) == "97"


def test_millions_need_no_source():
    assert not unsourced_number("213000000", ["213 million people"])


def test_a_year_is_in_a_date():
    assert not unsourced_number("2027 - 1936", ["How many years ago was 1936?", "2027-03-14"])


def test_an_amount_can_be_told_in_words():
    for number, expected in [(480, True), (-90, True), (21.5, True), (250000, True), (1500.0, True), (4817, False)]:
        with row(number, expected):
            assert told_in_words(number) is expected


def test_numbers_as_other_languages_write_them():
    for number, source in [
        ("12.75", "Was sind 19 % von 12,75 Euro?"),
        ("1250", "20 % de 1 250 euros"),
        ("1250000", "1.250.000 Euro"),
        ("1250.5", "1.250,50 Euro"),
        ("1250000", "CHF 1'250'000"),
    ]:
        with row(number, source):
            assert unsourced_number(number, [source]) == ""
            assert unsourced_number(number, ["Was kostet das?"]) == number


def test_a_sum_may_use_nothing_that_was_said():
    for text, source, nothing in [
        ("1000 * 0.05", "What is the price of a PMP-008?", True),
        ("24 * 60", "How many minutes has a day?", True),
        ("15 * 240 / 100", "What is 15% of 240?", False),
        ("12.75 * 0.19", "Was sind 19 % von 12,75 Euro?", False),
        ("Swan Lake (ballet)", "Is the ballet on?", False),
        ("1000", "Is there a PMP-008?", False),
    ]:
        with row(text, source, nothing):
            assert uses_nothing_said(text, [source]) is nothing


def test_a_sum_may_use_numbers_that_are_told_in_words():
    question = ["What is fifteen percent of two hundred and forty?"]
    assert unsourced_operand("0.15 * 240", question, in_words=True) == ""
    assert unsourced_operand("0.15 * 240", question) == "240"
    assert unsourced_operand("0.15 * 2417", question, in_words=True) == "2417"
    assert unsourced_operand("240", question, in_words=True) == "240", "nothing is calculated"


def test_a_function_that_is_called_is_no_id():
    assert ids("log10(5000) + atan2(1, 2)") == []
    assert ids("log10 of CL-15 (double)") == ["log10", "CL-15"]
