"""Numbers, money and dates in one way of writing."""

from __future__ import annotations

import pytest

from treadle._plugins.evidence.canonical import canonical


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("48.9 million kroner", "48900000 kroner"),
        ("39.7 thousand and 2 bn", "39700 and 2000000000"),
        ("Thirty-seven people, fifteen dogs", "37 people, 15 dogs"),
        ("two hundred and $3.5 million", "200 and 3500000 dollars"),
        ("on 1 August 2025, August 1st, 2025 and 31 February 2025", "on 2025-08-01, 2025-08-01 and 31 February 2025"),
        ("12 % of €500", "12 percent of 500 euros"),
        ("Nothing to write anew.", "Nothing to write anew."),
    ],
)
def test_the_same_is_written_in_the_same_way(text: str, written: str):
    assert canonical(text) == written
