"""Sentences, words and numbers."""

from __future__ import annotations

from decimal import Decimal

from treadle._plugins.evidence.words import canonical, derived_from, sentences, stem, words_of


def test_sentences_have_their_places():
    text = "# Rain\n\n1. Dr. Li saw 3.5 mm. It was *May* [ID:4].\n- and dry in June!\n\n***\n它在五月。下雨了。"
    found = sentences(text)
    shown = ["Rain", "Dr. Li saw 3.5 mm.", "It was *May* [ID:4].", "and dry in June!", "它在五月。", "下雨了。"]
    assert [sentence.text for sentence in found] == shown
    assert all(text[s.start : s.end] == s.text for s in found)
    assert [s.cited for s in found if s.cited] == [("4",)]
    assert [sentence.text for sentence in sentences("Code:\n```python\nx = 1\n```\n")] == ["Code:", "x = 1"]


def test_words_names_and_numbers():
    words = words_of("In Oslo it rained on 1,200 days, twelve of them in R-7's 3rd year; it isn't NATO [ID:99].")
    assert words.numbers == (("1,200", Decimal(1200)), ("twelve", Decimal(12)), ("3", Decimal(3)))
    assert words.names == ("Oslo", "R-7's", "NATO")
    assert words.negated
    assert {"oslo", "rain", "day", "year"} <= words.content
    assert words_of("五月下雨").content == {"五月", "月下", "下雨"}
    assert not words_of("It is.").content


def test_endings_do_not_matter():
    assert stem("rained") == stem("raining") == stem("rains") == "rain"
    assert stem("days") == stem("day")
    assert stem("city's") == "city"
    assert stem("ing") == "ing"


def test_numbers_that_follow():
    assert derived_from(Decimal(391), [Decimal(17), Decimal(23)]) == (17, "*", 23)
    assert derived_from(Decimal("33.3"), [Decimal(1), Decimal(3)]) == (1, "%", 3)
    assert derived_from(Decimal(6), [Decimal(23), Decimal(17), Decimal(0)]) == (23, "-", 17)
    assert derived_from(Decimal(392), [Decimal(17), Decimal(23)]) is None


def test_the_same_is_written_in_the_same_way():
    for text, written in {
        "48.9 million kroner": "48900000 kroner",
        "39.7 thousand and 2 bn": "39700 and 2000000000",
        "Thirty-seven people, fifteen dogs": "37 people, 15 dogs",
        "two hundred and $3.5 million": "200 and 3500000 dollars",
        "on 1 August 2025, August 1st, 2025": "on 2025-08-01, 2025-08-01",
        "on 31 February 2025": "on 31 February 2025",
        "12 % of €500": "12 percent of 500 euros",
        "Nothing to write anew.": "Nothing to write anew.",
    }.items():
        assert canonical(text) == written
