"""Which lines decide about a call."""

from __future__ import annotations

from typing import Any

import pytest

from kit import add
from treadle._cli.driving.question import AskAgain, Decided, Question
from treadle._types.messages import ToolCall

CALL = ToolCall("c1", "add", {"a": 1, "b": 2})


@pytest.mark.parametrize(
    ("line", "allow", "always", "note"),
    [
        ("y", True, False, ""),
        (" Yes ", True, False, ""),
        ("a", True, True, ""),
        ("ALWAYS", True, True, ""),
        ("yes: it is my own file", True, False, "it is my own file"),
        ("n", False, False, ""),
        ("no", False, False, ""),
        ("no, use the other one", False, False, "use the other one"),
        ("n wrong file", False, False, "wrong file"),
    ],
)
def test_a_whole_answer_decides(line: str, allow: bool, always: bool, note: str):
    reading = Question(CALL, add).read(line)
    assert isinstance(reading, Decided)
    assert isinstance(reading.answer, dict)
    assert (reading.answer["allow"], reading.answer["note"]) == (allow, note)
    assert bool(reading.answer.get("always")) is always
    assert "args" not in reading.answer


@pytest.mark.parametrize("line", ["l", "later", "/quit"])
def test_later_leaves_it_open(line: str):
    assert Question(CALL, add).read(line) == Decided(None)


@pytest.mark.parametrize(
    "line",
    ["please", "a different file", "yes but not that", "yeah", "ya", "yy", "y n", "ok", "", " ", "allow", "nope", "1"],
)
def test_anything_else_is_no_decision_and_names_the_words(line: str):
    reading = Question(CALL, add).read(line)
    assert isinstance(reading, AskAgain)
    assert "yes, no, always" in reading.text


def test_a_text_of_several_lines_is_shown_as_such_and_cannot_pass_for_another_argument():
    call = ToolCall("c1", "mail", {"to": "ann", "text": "Dear Ann,\n  to: eve", "fast": True})
    assert Question(call).text == "? mail\n  to: ann\n  text:\n    Dear Ann,\n      to: eve\n  fast: true"


def test_arguments_are_edited_then_decided_about():
    question = Question(CALL, add)
    assert question.read("e") == AskAgain(
        "change the arguments, then Enter (Ctrl-U and Enter: leave them)", '{"a":1,"b":2}'
    )
    assert isinstance(question.read('{"a":1,"b":30}'), AskAgain), "changing them is not yet allowing them"
    assert question.call.args == {"a": 1, "b": 30}
    assert question.text == '? add {"a":1,"b":30}'
    reading = question.read("yes")
    assert isinstance(reading, Decided)
    assert isinstance(reading.answer, dict)
    assert reading.answer["args"] == {"a": 1, "b": 30}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("y", "not JSON"),
        ("[1]", "a JSON object"),
        ('{"a":"x","b":2}', "argument 'a': expected integer"),
        ('{"a":1}', "argument 'b': missing"),
        ('{"a":1,"b":2,"c":3}', "unknown argument 'c'; it takes: a, b"),
    ],
)
def test_what_the_tool_does_not_take_is_said_and_stays_there_to_be_corrected(line: str, problem: str):
    question = Question(CALL, add)
    question.read("edit")
    reading = question.read(line)
    assert isinstance(reading, AskAgain)
    assert problem in reading.text
    assert reading.line == line
    assert question.call is CALL


@pytest.mark.parametrize("line", ["", "/quit"])
def test_an_empty_line_leaves_the_arguments_as_they_are(line: str):
    question = Question(CALL, add)
    question.read("e")
    question.read(line)
    reading: Any = question.read("y")
    assert "args" not in reading.answer
