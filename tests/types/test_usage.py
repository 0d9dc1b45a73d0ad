"""Usage adds up."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from treadle._types.usage import NO_USAGE, Usage

COUNTS = [name for name in Usage.__struct_fields__ if name != "cost"]
counts = st.integers(0, 10**9)
# Whole cents: sums of floats in another order may differ in the last digit, which is not what is tested here.
costs = st.none() | st.integers(0, 10**6).map(float)
usages = st.builds(Usage, cost=costs, **dict.fromkeys(COUNTS, counts))


@given(usages, usages)
def test_every_count_is_summed(one: Usage, other: Usage):
    both = one + other
    for name in COUNTS:
        assert getattr(both, name) == getattr(one, name) + getattr(other, name), name


@given(usages, usages, usages)
def test_order_does_not_matter_and_nothing_changes_nothing(one: Usage, two: Usage, three: Usage):
    assert one + two == two + one
    assert (one + two) + three == one + (two + three)
    assert one + NO_USAGE == NO_USAGE + one == one


def test_an_unknown_price_is_not_a_price_of_zero():
    assert (NO_USAGE + Usage(requests=1)).cost is None
    assert (Usage(cost=0.0) + Usage()).cost == 0.0
    assert (Usage(cost=0.25) + Usage()).cost == (Usage() + Usage(cost=0.25)).cost == 0.25


def test_cached_and_reasoning_tokens_are_part_of_the_total_already():
    used = Usage(input_tokens=100, output_tokens=20, cached_tokens=90, cache_write_tokens=10, reasoning_tokens=15)
    assert used.total_tokens == 120


def test_what_is_zero_is_not_written_out():
    assert msgspec.json.encode(NO_USAGE) == b"{}"
    assert msgspec.json.encode(Usage(requests=1)) == b'{"requests":1}'
