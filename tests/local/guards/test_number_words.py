"""Numbers that people write as words, in eight languages."""

from __future__ import annotations

import time
import unicodedata

import pytest

from treadle._local.guards.number_words import is_said, number_words
from treadle._local.guards.numbers_and_ids import unsourced_operand


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (40, "Forty chairs for the parish fair"),
        (75, "we'll be seventy-five at tables"),
        (17, "Ticket for seventeen people"),
        (110, "a hundred and ten horses"),
        (600, "six hundred"),
        (3000, "three thousand litres"),
        (24, "two dozen rolls"),
        (500, "half a kilo of figs"),
        (250, "a quarter of a kilo"),
        (45, "fünfundvierzig Stühle"),
        (35, "vijfendertig stoelen"),
        (80, "quatre-vingts chaises"),
        (120, "ciento veinte sillas"),
        (30, "trenta sedie"),
        (50, "cinquenta cadeiras"),
        (60, "sześćdziesiąt krzeseł"),
        (300, "trzysta krzeseł"),
        (300, "trezentos euros"),
        (250, "duecentocinquanta euro"),
        (43, "drieënveertig stoelen"),
        (17, "dix-sept chaises"),
        (200, "deux cents chaises pour les invités"),
        (1200, "twelve hundred words"),
        (2_000_000, "two million rows"),
        (18, "one and a half dozen"),
        (15, unicodedata.normalize("NFD", "fünfzehn Stühle")),
    ],
)
def test_a_number_is_found_in_words(number: float, text: str):
    assert is_said(number, number_words(text))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (40, "four chairs"),
        (75, "sixty-five at tables"),
        (71.5, "seventy-one and a half"),
        (17, "sixteen people"),
        (110, "ten horses"),
        (1234, "a thousand or so"),
        (13, "the twelve of us"),
        (500, "the whole kilo"),
        (300, "the cost of the stork's nest"),
        (60, "sixteen people"),
        (70, "seventeen"),
        (80, "opens at eight, the eighth door"),
        (40, "Fortunately in a fortnight"),
        (20, "the ventilator, the vent, a vintage window"),
        (500, "at half past nine"),
        (250, "a quarter to five"),
        (150, "fifty per cent off, ten cents each"),
        (98760, "Customer: Anna Miller, millet"),
        (4210, "Camila Ortiz"),
    ],
)
def test_another_one_is_not(number: float, text: str):
    assert not is_said(number, number_words(text))


@pytest.mark.parametrize("text", ["en" * 50_000, "enhunder" * 12_000, "und vierzi " * 10_000, "a" * 100_000])
def test_a_long_text_takes_no_time(text: str):
    begun = time.perf_counter()
    assert not is_said(137, number_words(text))
    assert time.perf_counter() - begun < 1


def test_a_sum_of_what_was_said_in_words_has_its_source():
    """It was refused as invented: the count stands in the question, the price in a result."""
    assert unsourced_operand("40 * 1.8", ["Forty folding chairs, please", "folding chair: 1.8 EUR"]) == ""
    assert unsourced_operand("50 * 1.8", ["Forty folding chairs, please", "folding chair: 1.8 EUR"]) == "50"
