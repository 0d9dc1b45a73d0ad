"""Real broken JSON and real tool markup: nothing crashes, valid JSON stays what it is, garbage calls nothing."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest

from dialects.samples import READERS, SEARCH, decode, executable, load
from treadle._dialects.reading.extract import extract_json
from treadle._safety.data import repeats_a_name
from treadle._types.request import ToolSchema

BAD_JSON = [row for row in load("bad_json.json") if isinstance(row["input"], str)]
OUTPUTS: list[str] = [row["raw"] for row in load("tool_outputs.json")]
EXPECTED: list[dict[str, Any]] = load("tool_outputs_expected.json")
TOOLS_IN_DATA = tuple(
    ToolSchema(name, "", {"type": "object"})
    for name in sorted({"get_weather", "search", *(call[0] for row in EXPECTED for call in row["calls"])})
)
CLOSED = re.compile(r"[})]|</(?:\w+:)?(?:function|invoke|tool_call)>|call▁end")
TEMPLATES = (286, 288, 289, 298, 299, 300)
"""Rows that are chat templates, not replies."""


def valid(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def test_the_data_is_all_there():
    assert len(load("bad_json.json")) == 282
    assert len(OUTPUTS) == len(EXPECTED) == 417


def test_bad_json_never_crashes_and_valid_json_is_unchanged():
    seen = {"strict": 0, "lenient": 0, "repaired": 0, "none": 0}
    for row in BAD_JSON:
        text = row["input"]
        try:
            value, how = extract_json(text)
        except ValueError:
            assert not valid(text)
            seen["none"] += 1
            continue
        msgspec.json.encode(value)
        seen[how] += 1
        if valid(text):
            plain = json.loads(text)
            assert how == "strict" or repeats_a_name(text, 0)
            assert value == plain or (isinstance(plain, str) and value == json.loads(plain))
        else:
            assert how != "strict"
    assert seen["strict"] >= 30, seen
    assert seen["lenient"] >= 60, seen


@pytest.mark.parametrize("dialect", READERS)
def test_bad_json_is_never_a_call(dialect: str):
    for row in BAD_JSON:
        for finish in ("stop", "length"):
            assert decode(dialect, row["input"], finish).calls == ()


@pytest.mark.parametrize("dialect", READERS)
def test_tool_outputs_give_the_expected_calls(dialect: str):
    """The data carries no expectations: these were written by this reader and then reviewed row by row."""
    wrong: list[tuple[int, Any]] = []
    for index, (text, row) in enumerate(zip(OUTPUTS, EXPECTED, strict=True)):
        decision = decode(dialect, text, tools=TOOLS_IN_DATA)
        got = [list(call) for call in executable(decision)]
        # The JSON of a text dialect counts, with a doubt, where markup would only be shown.
        shown = row["kind"] == "answer" and all(call.repaired for call in decision.calls)
        if got != row["calls"] and not shown:
            wrong.append((index, got))
    assert not wrong


def test_what_is_not_a_call_is_a_problem_or_an_answer_as_expected():
    for index, (text, row) in enumerate(zip(OUTPUTS, EXPECTED, strict=True)):
        decision = decode("native", text, tools=TOOLS_IN_DATA)
        usable = [call for call in decision.calls if not call.problem]
        doubt = any(call.repaired for call in usable)
        kind = "doubt" if doubt else "calls" if usable else "problem" if decision.problem else "answer"
        assert kind == row["kind"], index


def test_most_real_calls_are_certain():
    """What the rules of `reading/placement.py` and the marks of the parser cost real models: one call in eight."""
    kinds = [row["kind"] for row in EXPECTED]
    assert kinds.count("calls") >= 209
    assert kinds.count("doubt") <= 33


@pytest.mark.parametrize("dialect", READERS)
def test_no_tool_is_called_from_garbage(dialect: str):
    """Garbage: nothing that could be a call was ever closed, or the row is a chat template."""
    garbage = [text for index, text in enumerate(OUTPUTS) if index in TEMPLATES or not CLOSED.search(text)]
    assert len(garbage) > 120
    for text in garbage:
        for tools in ((), (SEARCH,), TOOLS_IN_DATA):
            assert executable(decode(dialect, text, tools=tools)) == [], text


@pytest.mark.parametrize("dialect", READERS)
def test_tool_outputs_cut_anywhere_call_nothing_else(dialect: str):
    for text, row in zip(OUTPUTS[::4], EXPECTED[::4], strict=True):
        for end in range(0, len(text), 7):
            for call in executable(decode(dialect, text[:end], "length", tools=TOOLS_IN_DATA)):
                shown = row["kind"] == "answer" and f'"{call[0]}"' in text  # prose behind the call is what was cut
                assert list(call) in row["calls"] or shown, text[:end]
