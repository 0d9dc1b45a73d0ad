"""Dates in a text, for whoever compares them."""

from __future__ import annotations

from treadle._types.dates import replace_dates

WRITTEN = {
    "2025-01-05": "[2025 1 5]",
    "January 5th, 2025 and Jan. 5": "[2025 1 5] and [0 1 5]",
    "5 of May 2025, 5. Mai 2025, 5 de mayo de 2025": "[2025 5 5], [2025 5 5], [2025 5 5]",
    "5.1.2025, 13/2/2025, 2/13/2025, 5/6/2025": "[2025 1 5], [2025 2 13], [2025 2 13], 5/6/2025",
    "30 February 2025, 2025-13-01, v2025-01-05-2": "30 February 2025, 2025-13-01, v2025-01-05-2",
    "may 5 people come, decide 4, 3 marbles": "[0 5 5] people come, decide 4, 3 marbles",
}


def test_every_way_of_writing():
    shown = {text: replace_dates(text, lambda year, month, day: f"[{year} {month} {day}]") for text in WRITTEN}
    assert shown == WRITTEN


def test_a_date_that_is_left():
    assert (
        replace_dates("on 2025-01-05 or 5 May", lambda year, month, day: None if year else "then")
        == "on 2025-01-05 or then"
    )
