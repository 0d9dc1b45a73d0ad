"""Assertions about what a run did: each can fail, and tells the story of the run."""

from __future__ import annotations

import pytest

from kit import add, call, echo
from treadle import Agent, ScriptedModel
from treadle.testing import assert_answered, assert_called, assert_not_called, assert_tools

SCRIPT = [call("echo", text="x"), call("echo", text="y"), "The answer is Lisbon."]


def test_what_happened_is_asserted():
    result = Agent(ScriptedModel(SCRIPT), [echo, add]).run_sync("q")
    assert [step.args for step in assert_called(result, "echo")] == [{"text": "x"}, {"text": "y"}]
    assert_called(result, "echo", times=1, text="y")
    assert_not_called(result, "add")
    assert_tools(result, ["echo", "echo"])
    assert_answered(result, "lisbon", "ANSWER")


def test_what_did_not_happen_fails_with_the_story():
    result = Agent(ScriptedModel(SCRIPT), [echo, add]).run_sync("q")
    failures = {
        "add\\(\\) was not called": lambda: assert_called(result, "add"),
        "echo\\(text='z'\\) was not called; it was called with other": lambda: assert_called(result, "echo", text="z"),
        "was called 2 times, not 1": lambda: assert_called(result, "echo", times=1),
        "echo was called": lambda: assert_not_called(result, "echo"),
        "the calls were": lambda: assert_tools(result, ["echo"]),
        "does not contain 'Porto'": lambda: assert_answered(result, "Porto"),
    }
    for message, check in failures.items():
        with pytest.raises(AssertionError, match=message) as caught:
            check()
        assert '-> echo(text="x")' in str(caught.value)
    stopped = Agent(ScriptedModel([ValueError("no")]), tools=None, on_error="result").run_sync("q")
    with pytest.raises(AssertionError, match="did not succeed: it ended with 'error'"):
        assert_answered(stopped)
