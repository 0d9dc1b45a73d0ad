"""A refused value beside one in the error that is nearly the same."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from kit import go
from treadle import Agent, ScriptedModel, ToolError, tool
from treadle._tools.runner import did_you_mean

MESSAGE = "there is no city 'Lisboa'; expected one of: Madrid, Lisbon, New York and Porto."


def test_what_is_meant():
    for args, message, hint in (
        ({"to": "Lisboa", "start": "Madrid"}, MESSAGE, 'Did you mean to = "Lisbon"?'),
        ({"to": "new yrok"}, MESSAGE, 'Did you mean to = "New York"?'),
        ({"to": "porto"}, MESSAGE, ""),
        ({"to": "Vienna"}, MESSAGE, ""),
        ({"sku": "K100"}, "no SKU 'K100'; expected one of: K-100, L-205", 'Did you mean sku = "K-100"?'),
        ({"a": "alpa", "b": "bet"}, "use one of [alpha, beta]", 'Did you mean a = "alpha", b = "beta"?'),
        ({"to": "Lisboa"}, "Unknown city. Did you mean Lisbon?", ""),
        ({"to": "Lisboa", "n": 3, "deep": {"x": "Lisboa"}}, "no such city", ""),
        ({}, MESSAGE, ""),
        ({"url": "https://example.com/a-page"}, "404: there is no page https://example.com/a-page", ""),
        ({"path": "fern_q3.docx"}, "there is no file or folder fern_q3.docx", ""),
        (
            {"hotel": "Grey Moon"},
            "no hotel 'Grey Moon'; there are: Hotel Grey Moon",
            'Did you mean hotel = "Hotel Grey Moon"?',
        ),
    ):
        assert did_you_mean(args, message) == hint, args


@given(st.dictionaries(st.text(max_size=10), st.text(max_size=100), max_size=4), st.text(max_size=300))
def test_it_never_fails_and_only_quotes_the_message(args: dict[str, str], message: str):
    hint = did_you_mean(args, message)
    assert hint == "" or hint.split(' = "')[1].split('"')[0] in message


def test_many_long_values_do_not_hold_up_the_loop():
    offered = ", ".join("abcdefghij" * 7 + str(number) for number in range(60))
    args = {f"a{number}": "abcdefghij" * 8 for number in range(500)}
    started = time.process_time()
    assert did_you_mean(args, offered)
    assert time.process_time() - started < 1  # of CPU time; comparing all of them would take far longer


def test_it_reaches_the_model():
    @tool
    def distance(start: str, to: str) -> str:
        """The distance between two cities."""
        if to != "Lisbon":
            raise ToolError("expected one of: Madrid, Lisbon")
        return "625 km"

    model = ScriptedModel([{"name": "distance", "args": {"start": "Madrid", "to": "Lisboa"}}, "Sorry."])
    result = go(Agent(model, [distance]).run("How far is it?"))
    assert result.steps[0].observation.endswith('expected one of: Madrid, Lisbon. Did you mean to = "Lisbon"?')
