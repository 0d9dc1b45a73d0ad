"""The leaderboard's test rows with the product as it is installed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from kit import call
from training import bfcl, rows
from treadle import ModelError, ScriptedModel
from treadle._types.request import Reply, Request, StreamPart


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


def asked(script: list[Any], truth: Any = None, **settings: Any) -> dict[str, Any]:
    model = ScriptedModel(script, repeat_last=True)
    return asyncio.run(rows.asked(model, row("irrelevance", 1, truth), **settings))


def test_an_error_is_not_the_decision_to_make_no_call():
    found = asked([ModelError("out of memory")])
    assert (found["passed"], found["error"]) == (False, "ModelError: out of memory")
    cut = asked([Reply('{"action": "city_weather", "args": {"city": "Tu', finish="length")], dialect="compact")
    assert (cut["passed"], cut["error"]) == (False, "no reply could be read")


def test_a_row_that_takes_too_long_is_an_error():
    class Slow(ScriptedModel):
        async def stream(self, request: Request) -> AsyncGenerator[StreamPart]:
            await asyncio.sleep(60)
            yield Reply("It is sunny.")

    found = asyncio.run(rows.asked(Slow([]), row("irrelevance", 1), limit=0.01))
    assert not found["passed"]
    assert found["error"].startswith("TimeoutError")


def test_where_no_call_is_right_a_call_with_wrong_arguments_is_one():
    found = asked([call("city_weather", city=["Turin"]), "I cannot tell."])
    assert (found["passed"], found["error"]) == (False, "")
    assert found["calls"] == [("city_weather", {"city": ["Turin"]})]


def test_where_no_call_is_right_a_call_that_was_cut_off_is_one():
    said = '{"action": "final_answer", "final_answer": "I have no tool for this.", "task_successful": false}'
    cut = Reply('{"action": "city_weather", "args": {"city": "Tu', finish="length")
    found = asked([cut, said], dialect="compact")
    assert (found["passed"], found["calls"], found["error"]) == (False, [("city_weather", {})], "")


def test_where_a_call_is_right_the_first_that_reaches_its_tool_counts():
    wanted = [{"city.weather": {"city": ["Turin"]}}]
    found = asked([call("city_weather", city=["Turin"]), call("city_weather", city="Turin")], wanted)
    assert (found["passed"], found["calls"]) == (True, [("city_weather", {"city": "Turin"})])


def test_a_refusal_by_the_models_own_word_is_no_error():
    said = '{"action": "final_answer", "final_answer": "I have no tool for this.", "task_successful": false}'
    found = asked([said], dialect="compact")
    assert (found["passed"], found["error"]) == (True, "")


def test_the_report_counts_errors_apart():
    done = [
        {"category": "irrelevance", "passed": False, "error": "ModelError: out of memory"},
        {"category": "irrelevance", "passed": True, "error": ""},
    ]
    assert rows.report(done).splitlines()[-1].endswith("1 of 2    9% to 91%, errors among the others: 1")


def test_the_report_has_intervals():
    done = [{"category": "irrelevance", "passed": True}, {"category": "multiple", "passed": False}]
    assert rows.report(done).splitlines()[-1].split() == ["all", "1", "of", "2", "9%", "to", "91%"]
