"""The work so far as text."""

from __future__ import annotations

import re
from typing import Any

from treadle._engine.answering.progress import progress, trace
from treadle._types.state import RunState
from treadle._types.state_values import Step


def step(number: int, observation: str = "ok", error: str = "", **args: Any) -> Step:
    return Step(number, f"tool{number}", args, observation, error, 0.0, f"c{number}")


def state(*steps: Step) -> RunState:
    run = RunState()
    run.steps.extend(steps)
    return run


def test_steps_in_their_order_with_arguments_and_results():
    text = trace([step(1, "three", a=1), step(2, "broke", "exception")], 100)
    assert text == '1. tool1({"a":1})\nresult: three\n\n2. tool2({})\nerror: broke'


def test_nothing_done_is_said():
    assert trace([], 100) == "(no tool was run)"
    assert progress(state()) == "", "no words of ours stand in for an answer"


def test_each_result_is_cut_and_its_arguments_more_so():
    text = trace([step(1, "x" * 500, text="y" * 500)], 100)
    assert "x" * 90 + " [... cut]" in text
    assert "x" * 91 not in text
    assert "y" * 26 not in text


def test_of_a_long_trace_the_latest_steps_are_kept():
    steps = [step(n, "z" * 50) for n in range(1, 11)]
    text = trace(steps, 100, max_chars=300)
    left_out = re.match(r"\((\d+) earlier steps are left out\)", text)
    assert left_out is not None
    shown = [int(number) for number in re.findall(r"^(\d+)\. tool", text, re.MULTILINE)]
    assert shown == list(range(int(left_out[1]) + 1, 11))
    assert 1 < len(shown) < 10
    assert len(text) < 400


def test_the_last_step_is_shown_however_long_it_is():
    assert "1. tool1" in trace([step(1, "z" * 500)], 1_000, max_chars=10)


def test_progress_names_tools_how_they_went_and_the_last_good_result():
    text = progress(state(step(1, "the sum is 3"), step(2, "no", "timeout")))
    assert "- tool1: succeeded" in text
    assert "- tool2: failed (timeout)" in text
    assert text.endswith("Last result: the sum is 3")


def test_progress_without_a_good_result_promises_none():
    assert "Last result" not in progress(state(step(1, "no", "timeout")))


def test_of_many_steps_progress_shows_the_last_twenty():
    text = progress(state(*(step(n) for n in range(1, 31))))
    assert "(the last 20 of 30)" in text
    assert "- tool10:" not in text
    assert "- tool11:" in text
