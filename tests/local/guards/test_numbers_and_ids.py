"""Numbers and ids: how they are read, and which of them have a source."""

from __future__ import annotations

from decimal import Decimal

import pytest

from treadle._local.guards.numbers_and_ids import (
    CONSTANTS,
    UNIT_FACTORS,
    ids,
    mentions,
    numbers,
    said_otherwise,
    told_in_words,
    unsourced_number,
    unsourced_operand,
    uses_nothing_said,
    with_an_initial,
)

TEXT = "4 * 110 of 1,200.50 at 07:50 on 2024-01-02: 3kg, AB17, R-100, 12.5%, 42."


def test_numbers_are_plain_numbers():
    assert [str(number) for number in numbers(TEXT)] == ["4", "110", "1200.50", "3", "12.5", "42"]
    assert numbers("9" * 21) == []


def test_ids_begin_with_a_letter_and_have_a_digit():
    assert ids(TEXT) == ["AB17", "R-100"]
    assert ids("T.2335 G/23/064 03/C 9842/7408 26NL002260") == ["T.2335", "G/23/064", "03/C", "9842/7408", "26NL002260"]
    assert ids("2026-05-03 07:50 3kg 24/7 1/2 4x4 2nd 12.5 1,200") == []


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("about ab-17.", "AB17", True),
        ("about AB17", "ab 17", True),
        ("about AB178", "AB17", False),
        ("about XAB17", "AB17", False),
        ("C++ (2)", "c2", False),
        ("anything", "--", False),
    ],
)
def test_mentions_is_about_whole_words_in_whatever_case(text: str, value: str, expected: bool):
    assert mentions(text, value) is expected


@pytest.mark.parametrize(
    ("text", "sources", "unsourced"),
    [
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
    ],
)
def test_a_number_has_a_source_or_follows_from_two(text: str, sources: list[str], unsourced: str):
    assert unsourced_number(text, sources) == unsourced


def test_only_the_first_numbers_of_a_long_text_are_checked():
    many = " ".join(["44"] * 60)
    assert unsourced_number(f"{many} 97", ["44"]) == ""
    assert unsourced_number(f"97 {many}", ["44"]) == "97"


@pytest.mark.parametrize(
    ("value", "source", "expected"),
    [
        ("TAL-0447", "the status of issue 447", True),
        ("353867701194", "calling from +353 86 770-1194", True),
        ("20250704", "on 4 July 2025", True),
        ("202605", "in May 2026", True),
        ("1330", "at half past one in the afternoon", True),
        ("2023-04-15", "on the 15th of April 2023", True),
        ("15/04/2023", "on April 15, 2023", True),
        ("Dec26", "in December 2026", True),
        ("03FEB26", "on the 3rd of February 2026", True),
        ("2026-W15", "in week 15 of 2026", True),
        ("2026-W16", "in week 15 of 2026", False),
        ("2026-Q2", "from April to June 2026", True),
        ("2023-04-16", "on the 15th of April 2023", False),
        ("20260412", "yesterday", False),
        ("TAL-0448", "the status of issue 447", False),
        ("C-20409", "the card K-20409", False),
        ("INV-2026", "in March 2026", False),
        ("T-42", "the order O-7742", False),
        ("K-10-12", "the ship that comes on Friday", False),
        ("B-1042", "from 10 to 42", False),
        ("R-25", "for 25 people", False),
        ("417", "the ship that comes on Friday", False),
        ("4817", "the ship that comes on Friday", False),
        ("12 * 4817", "12 times something", False),
        ("B07", "is b7 free?", True),
        ("LX-01107", "what of lx-1107", True),
        ("node-077", "restart node 77", True),
        ("node-077", "restart node 770", False),
        ("B07", "is b70 free?", False),
        ("520-B5", "block B5 of hull 520", True),
        ("520-B6", "block B5 of hull 520", False),
        ("KI-03/2", "flue KI-03, number 2", True),
        ("KI-03/4", "flue KI-03, number 2", False),
        ("C-07", "is circuit 7 alright?", True),
        ("W3", "Washing machine 3 is making that noise again", False),
        ("T4", "Is there a table with 4 seats?", False),
        ("F-4", "a table for 4 people", False),
        ("12-34", "12 apples and 34 pears", False),
        ("order-2", "cancel my order, 2 tickets", False),
        ("AT-005", "meet me at 5", False),
        ("1200.05", "pay 1200.5", False),
        ("0.0.0.0", "0" * 5000 + "x", False),
        ("A0-0-0-0-0-0-0", "0" * 5000 + "x", False),
        ("064-SH", "one of those labels, SH.64 it says", True),
        ("SH.64", "code 064-SH", True),
        ("2007-0412", "this one just reads 412/07, the rest is gone", True),
        ("0412/2007", "412/07", True),
        ("2008-0412", "412/07", False),
        ("064-SK", "SH.64", False),
        ("065-SH", "SH.64", False),
        ("064-SH", "64 of SH", False),
    ],
)
def test_a_value_can_be_said_in_another_form(value: str, source: str, expected: bool):
    assert said_otherwise(value, [source]) is expected


def test_millions_need_no_source():
    assert not unsourced_number("213000000", ["213 million people"])


def test_a_year_is_in_a_date():
    assert not unsourced_number("2027 - 1936", ["How many years ago was 1936?", "2027-03-14"])


@pytest.mark.parametrize(
    ("number", "expected"), [(480, True), (-90, True), (21.5, True), (250000, True), (1500.0, True), (4817, False)]
)
def test_an_amount_can_be_told_in_words(number: float, expected: bool):
    assert told_in_words(number) is expected


@pytest.mark.parametrize(
    ("number", "source"),
    [
        ("12.75", "Was sind 19 % von 12,75 Euro?"),
        ("1250", "20 % de 1 250 euros"),
        ("1250000", "1.250.000 Euro"),
        ("1250.5", "1.250,50 Euro"),
        ("1250000", "CHF 1'250'000"),
    ],
)
def test_numbers_as_other_languages_write_them(number: str, source: str):
    assert unsourced_number(number, [source]) == ""
    assert unsourced_number(number, ["Was kostet das?"]) == number


def test_who_calculates_may_use_the_factors_between_units():
    assert unsourced_operand("(98.6 - 32) * 5 / 9", ["What is 98.6 Fahrenheit in Celsius?"]) == ""
    assert unsourced_operand("3 * 5280", ["How many feet are 3 miles?"]) == ""
    assert unsourced_operand("3 * 528", ["How many feet are 3 miles?"]) == "528"
    assert unsourced_operand("5280", ["How many feet are 3 miles?"]) == "5280", "nothing is calculated"


@pytest.mark.parametrize(
    ("text", "source", "nothing"),
    [
        ("1000 * 0.05", "What is the price of a PMP-008?", True),
        ("24 * 60", "How many minutes has a day?", True),
        ("15 * 240 / 100", "What is 15% of 240?", False),
        ("12.75 * 0.19", "Was sind 19 % von 12,75 Euro?", False),
        ("Swan Lake (ballet)", "Is the ballet on?", False),
        ("1000", "Is there a PMP-008?", False),
    ],
)
def test_a_sum_may_use_nothing_that_was_said(text: str, source: str, nothing: bool):
    assert uses_nothing_said(text, [source]) is nothing


def test_who_calculates_may_use_numbers_that_are_told_in_words():
    question = ["What is fifteen percent of two hundred and forty?"]
    assert unsourced_operand("0.15 * 240", question, in_words=True) == ""
    assert unsourced_operand("0.15 * 240", question) == "", "the hundred is one of those words"
    assert unsourced_operand("0.15 * 1310", question) == "1310"
    assert unsourced_operand("0.15 * 1310", question, in_words=True) == ""
    assert unsourced_operand("0.15 * 2417", question, in_words=True) == "2417"


def test_the_factors_between_units_are_known_and_prices_are_not():
    assert {Decimal(32), Decimal(5280), Decimal(86400), Decimal("453.592")} <= CONSTANTS
    assert CONSTANTS > UNIT_FACTORS
    assert not {Decimal("71.50"), Decimal(110), Decimal(2031)} & CONSTANTS


def test_functions_units_and_forms_are_no_ids():
    assert ids("log10 km2 MP3 utf-8 SHA256 CO2") == []
    assert ids("CL-15 R7 mp35 log10x A17 B4") == ["CL-15", "R7", "mp35", "log10x", "A17", "B4"]


def test_a_number_may_have_the_initial_of_the_word_before_the_last_where_that_is_looked_at():
    said = ["Washing machine 3 is making that noise again"]
    assert [with_an_initial(value, said, 2) for value in ("W3", "M3", "W4", "N3")] == [True, True, False, False]
    assert not with_an_initial("W3", said)
