"""The evaluation on the accelerator, without one: a network that only has to be asked."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from kit import go
from training import bfcl
from training.asking import Job, Written, decides_next


class Network:
    """Says the same to all, unless it is out of memory."""

    def __init__(self, text: str = "") -> None:
        self.text = text

    def switch(self, on: bool) -> None: ...

    def generate_in_parts(self, jobs: list[Job], limit: int) -> list[Written]:
        if not self.text:
            raise RuntimeError("out of memory")
        return [Written(self.text, True, {}) for _ in jobs]


@pytest.fixture
def evaluate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The program without the libraries of an accelerator, which are not here."""
    stand_in = ModuleType("training.network")
    vars(stand_in).update(Network=Network)
    monkeypatch.setitem(sys.modules, "training.network", stand_in)
    monkeypatch.delitem(sys.modules, "training.evaluate", raising=False)
    yield import_module("training.evaluate")
    sys.modules.pop("training.evaluate", None)


def rows() -> list[bfcl.Row]:
    function = {
        "name": "area",
        "description": "The area of a circle.",
        "parameters": {"type": "dict", "properties": {"r": {"type": "integer"}}, "required": ["r"]},
    }
    return [bfcl.Row(f"irrelevance_{n}", "irrelevance", "", "How is the weather?", [function], None) for n in range(2)]


def test_what_the_network_decides_is_counted(evaluate: Any):
    table = go(evaluate.leaderboard(Network('{"action": "no_tool"}'), rows()))
    assert (table["right"], table["of"], table["errors"]) == (2, 2, 0)


def test_an_error_of_the_network_is_no_decision_and_counted_apart(
    evaluate: Any, tmp_path: Any, capsys: pytest.CaptureFixture[str]
):
    table = go(evaluate.leaderboard(Network(), rows()))
    assert (table["right"], table["of"], table["errors"]) == (0, 2, 2)
    assert {row["error"] for row in table["rows"]} == {"ModelError: RuntimeError: out of memory"}
    evaluate.report("one_dev", table, tmp_path)
    assert "'errors': 2" in capsys.readouterr().out


def test_an_error_is_no_answer_to_what_everybody_knows(evaluate: Any):
    table = evaluate.known(Network(), tools_too=True, most=3)
    assert (table["right"], table["of"], table["errors"]) == (0, 3, 3)


def test_without_an_adapter_the_product_decides_by_the_probabilities_of_a_model_that_is_not_tiny(evaluate: Any):
    facts = evaluate.product_facts(1.5)
    assert (facts["decide"].first, facts["decide"].fits) == (0.55, 0.62)
    assert evaluate.product_facts(0.5)["decide"] is None


@pytest.mark.parametrize(
    ("written", "after", "reached"),
    [
        ('{"action": "', '"action": "', True),
        ('{"fits":', '"fits": ', True),
        ('{"fits": ', '"fits": ', True),
        ('{"fits', '"fits": ', False),
        ('{"action":', '"action": "', False),
        ("anything", "", False),
    ],
)
def test_a_blank_before_a_decision_is_of_the_token_that_decides(written: str, after: str, reached: bool):
    """Without that no network was ever asked whether a tool fits: what it said had no probability."""
    assert decides_next(written, after) is reached
