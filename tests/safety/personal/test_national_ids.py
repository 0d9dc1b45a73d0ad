"""National ids: one changed digit, and it is none."""

from __future__ import annotations

import pytest

from treadle._safety.personal.national_ids import RULES, luhn

IDS = (
    "12345678Z", "X1234567L", "RSSMRA85T10A562S", "1 85 05 78 006 084 91", "44051401359", "86 095 742 719",
    "811228-9874", "131052-308T", "529.982.247-25", "943 476 5919", "756.9217.0769.85", "85.07.30-033.28",
)  # fmt: skip


def is_one(text: str) -> bool:
    return any(rule.fullmatch(text) is not None and holds(text) for rule, holds in RULES)


@pytest.mark.parametrize("number", IDS)
def test_the_check_digit_decides(number: str):
    assert is_one(number)
    place = next(at for at in range(len(number) - 1, -1, -1) if number[at].isdigit())
    others = [number[:place] + digit + number[place + 1 :] for digit in "0123456789" if digit != number[place]]
    assert sum(map(is_one, others)) <= 2  # another country's rule may hold by chance


def test_a_bsn_needs_the_word():
    (rule, holds) = next(pair for pair in RULES if "bsn" in pair[0].pattern)
    found = rule.search("BSN: 111222333")
    assert found is not None
    assert holds(found[0])
    assert rule.search("111222333") is None


def test_luhn():
    assert luhn("4111 1111 1111 1111")
    assert not luhn("4111 1111 1111 1112")
