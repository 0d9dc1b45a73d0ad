"""Facts about a model, and what a user overrides of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle._types.errors import ConfigError
from treadle._types.profile import ABILITIES, Prices, Profile

ABLE = Profile(tool_call=True, parallel_calls=True, forced_tool=True, window=8_192, dialect="native")


def test_a_model_nothing_is_known_of_streams_and_does_nothing_else():
    assert [name for name, can in Profile().abilities.items() if can] == ["streaming"]


def test_abilities_are_all_there_and_nothing_else_is():
    assert tuple(ABLE.abilities) == ABILITIES
    assert all(isinstance(can, bool) for can in ABLE.abilities.values())


@given(st.dictionaries(st.sampled_from([name for name in ABILITIES if name != "tool_call"]), st.booleans()))
def test_overrides_are_taken_and_the_rest_stays(overrides: dict[str, bool]):
    changed = ABLE.with_abilities(overrides)
    assert changed.abilities == {**ABLE.abilities, **overrides}
    assert (changed.window, changed.dialect) == (8_192, "native")


def test_without_tool_calls_there_are_no_forced_and_no_parallel_ones():
    changed = ABLE.with_abilities({"tool_call": False})
    assert (changed.tool_call, changed.forced_tool, changed.parallel_calls) == (False, False, False)


def test_what_is_said_expressly_wins_over_what_follows():
    assert ABLE.with_abilities({"tool_call": False, "parallel_calls": True}).parallel_calls


@pytest.mark.parametrize("can", [True, False])
def test_a_probed_dialect_rests_on_tool_calls_and_falls_with_them(can: bool):
    assert ABLE.with_abilities({"tool_call": can}).dialect is None
    assert ABLE.with_abilities({"tool_call": can, "dialect": "json"}).dialect == "json"
    assert ABLE.with_abilities({"vision": can}).dialect == "native"


def test_numbers_can_be_overridden_too():
    changed = Profile().with_abilities({"window": 4_096, "prices": Prices(1.0, 2.0)})
    assert changed.window == 4_096
    assert changed.prices == Prices(input=1.0, output=2.0, cached=None, cache_write=None)


def test_an_unknown_ability_is_named_with_those_there_are():
    with pytest.raises(ValueError, match=r"unknown ability 'tool_cal'.*tool_call, parallel_calls"):
        Profile().with_abilities({"tool_cal": True, "vision": True})


@pytest.mark.parametrize(
    ("facts", "small"),
    [
        ({}, False),
        ({"parameters": 0.5}, True),
        ({"parameters": 3.9}, True),
        ({"parameters": 4.0}, False),
        ({"tiny": True}, True),
    ],
)
def test_a_model_is_small_when_its_size_is_known_and_below_four_billion(facts: dict[str, float], small: bool):
    assert Profile().with_abilities(facts).small is small


@pytest.mark.parametrize("name", ["window", "max_output"])
@pytest.mark.parametrize("tokens", [0, -1, True, 1.5, "many"])
def test_a_number_of_tokens_is_whole_and_at_least_one(name: str, tokens: object):
    with pytest.raises(ConfigError, match=f"{name} is .*, and it must be a whole number of at least 1"):
        Profile().with_abilities({name: tokens})


@pytest.mark.parametrize("price", [-0.01, float("inf"), float("nan")])
def test_a_price_is_a_number_of_dollars(price: float):
    with pytest.raises(ConfigError, match=r"prices: output is .*, and it must be a number of dollars of at least 0"):
        Prices(1.0, price)
