"""The leaderboard's test rows with the product as it is installed."""

from __future__ import annotations

import asyncio
from typing import Any

from kit import call
from training_kit import conversations as _on_the_path  # noqa: F401

from training import bfcl, rows  # isort: skip

from treadle import ScriptedModel


def row(category: str, number: int, truth: Any = None) -> bfcl.Row:
    function = {
        "name": "city.weather",
        "description": "The weather of a city.",
        "parameters": {"type": "dict", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
    return bfcl.Row(f"{category}_{number}", category, "", "How is the weather in Turin?", [function], truth)


def test_categories_take_turns():
    found = rows.in_turn([row("simple_python", 1), row("simple_python", 2), row("irrelevance", 1)])
    assert [one.id for one in found] == ["simple_python_1", "irrelevance_1", "simple_python_2"]


def test_the_first_decision_counts():
    wanted = [{"city.weather": {"city": ["Turin"]}}]

    def passed(reply: Any, truth: Any) -> bool:
        model = ScriptedModel([reply], repeat_last=True)
        return asyncio.run(rows.asked(model, row("simple_python", 1, truth)))["passed"]

    assert passed(call("city_weather", city="Turin"), wanted)
    assert not passed(call("city_weather", city="Milan"), wanted)
    assert not passed(call("city_weather", city="Turin"), None)
    assert not passed("It is sunny.", wanted)
    assert passed("It is sunny.", None)


def test_the_report_has_intervals():
    done = [{"category": "irrelevance", "passed": True}, {"category": "multiple", "passed": False}]
    assert rows.report(done).splitlines()[-1].split() == ["all", "1", "of", "2", "9%", "to", "91%"]
