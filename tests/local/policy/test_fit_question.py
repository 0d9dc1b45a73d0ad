"""Whether a tool is for what was asked: what a model is shown, and what its reply means."""

from __future__ import annotations

import pytest

from kit import row
from treadle._local.policy.fit_question import about_tools, fit_probability
from treadle._types.messages import SystemMessage, UserMessage, text_of
from treadle._types.request import ToolSchema


def test_it_is_asked_with_the_tools_as_they_are_called():
    tools = [
        ToolSchema("tide", "The tide at a place {now}.", {"properties": {"place": {}, "day": {}}}),
        ToolSchema("moon", "Its phase.", {}),
    ]
    first, second = about_tools(tools, "When is high water in {Esbjerg}?")
    assert isinstance(first, SystemMessage)
    assert isinstance(second, UserMessage)
    system, user = first.text, text_of(second.content)
    assert "- tide(place, day): The tide at a place {now}.\n- moon(): Its phase.\n" in system
    assert user.startswith("When is high water in {Esbjerg}?\n\n")
    assert user.endswith('{"fits": true} or {"fits": false}')


def test_a_yes_counts_beside_a_no():
    for options, expected in [
        ({" true": 0.6, " false": 0.2}, 0.75),
        ({"true": 0.3, "tru": 0.1, " f": 0.4}, 0.5),
        ({"false}": 0.9}, 0.0),
        ({"maybe": 0.9, " ": 0.1}, None),
        ({}, None),
    ]:
        with row(options, expected):
            assert fit_probability(options) == (None if expected is None else pytest.approx(expected))
