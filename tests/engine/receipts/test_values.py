"""Ids, amounts and dates, whatever the wording."""

from __future__ import annotations

from treadle._engine.receipts.values import values_in, values_of


def test_values_are_read_in_every_way_they_may_be_meant():
    values = values_of("On 3 May 2024 and 2024-06-01, 1.234 kg for W-17, card ending in 4421, in 2023.")
    assert values.dates == {(2024, 5, 3), (2024, 6, 1)}
    assert values.ids == {"w-17", "4421"}
    assert {str(number) for number in values.numbers} >= {"1.234", "1234"}
    inside = values_in({"card": "credit_card_994421", "items": ["a", "b"], "raw": '{"order": "X1"}', "broken": "{x"})
    assert inside.has_id("4421")
    assert inside.has_id("x1")
    assert any(number == 2 for number in inside.numbers), "how many there are"


def test_a_number_with_two_decimals_is_read_in_one_way_and_a_date_of_a_call_in_both():
    assert [str(number) for number in values_of("$1.50").numbers] == ["1.5"]
    assert {str(number) for number in values_of("1.234").numbers} == {"1.234", "1234"}
    inside = values_in({"on": "11/7/2025"})
    assert inside.dates == {(2025, 11, 7), (2025, 7, 11)}
    assert values_of("src/app.py and readme.md, e.g. this.").ids == {"src/app.py", "readme.md"}
