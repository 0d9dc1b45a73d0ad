"""Where a reply decides, and what the model would have written there."""

from __future__ import annotations

import math

import pytest

from treadle._models.transport.decision import DecisionPoint, answer_probability, is_answer, wants_answer
from treadle._types.request import DecisionNames


def read(
    after: str,
    *tokens: tuple[str, dict[str, float]],
    answer_from: float | None = None,
    no_call_from: float | None = None,
) -> DecisionPoint:
    point = DecisionPoint(after, answer_from, no_call_from=no_call_from)
    for text, others in tokens:
        point.feed(text, [(name, math.log(share)) for name, share in others.items()])
    return point


@pytest.mark.parametrize(
    "opening", ['{"action": "', '{"action":"', '{\n  "action" :\n "', '{"thought": "x", "action": "']
)
def test_the_decision_is_found_however_the_blanks_are(opening: str):
    point = read('"action": "', (opening, {"no": 1.0}), ("add", {"add": 0.75, "final": 0.25}))
    assert {name: round(share, 2) for name, share in point.options.items()} == {"add": 0.75, "final": 0.25}


def test_words_about_an_action_inside_a_text_are_none():
    point = read('"action": "', ('{"thought": "an \\"action\\": \\"', {}), ("x", {"x": 1.0}))
    assert point.options == {}


@pytest.mark.parametrize(
    ("written", "answer", "threshold", "contradicted"),
    [("final", 0.1, 0.5, True), ("add", 0.1, 0.5, False), ("add", 0.9, 0.5, True), ("final", 0.5, 0.5, False),
     ("no", 0.1, 0.5, True), ("final", 0.1, None, False)],
)  # fmt: skip
def test_a_reply_goes_against_what_the_model_wants(
    written: str, answer: float, threshold: float | None, contradicted: bool
):
    options = {"add": 1 - answer, "final": answer}
    point = read('"action": "', ('{"action": "', {}), (written, options), answer_from=threshold)
    assert point.contradicted is contradicted


@pytest.mark.parametrize(("written", "answer", "contradicted"), [
    ("add", 0.3, False), ("final", 0.3, False), ("add", 0.6, True), ("final", 0.1, True)])  # fmt: skip
def test_between_two_thresholds_a_reply_is_believed_whichever_it_is(written: str, answer: float, contradicted: bool):
    options = {"add": 1 - answer, "final": answer}
    point = read('"action": "', ('{"action": "', {}), (written, options), answer_from=0.2, no_call_from=0.5)
    assert point.contradicted is contradicted


@pytest.mark.parametrize("logarithm", [math.nan, math.inf, -math.inf, 3.0, -50.0])
def test_what_is_no_probability_is_left_out(logarithm: float):
    point = DecisionPoint('"action": "')
    point.feed('{"action": "add', [('{"action": "add', logarithm)])
    assert point.options == {}


def test_both_names_of_an_answer_count():
    assert answer_probability({"no_tool": 0.25, "final": 0.25, "note": 0.4, "": 0.1}) == pytest.approx(0.5)
    assert [is_answer(text) for text in ("", "n", "no_t", 'final_answer", "', "finally")] == [
        False,
        True,
        True,
        True,
        False,
    ]


GRADES = DecisionNames(("final_answer",), ("final_grade", "final_answer_sheet", "add"))


def test_a_beginning_that_is_of_a_tool_as_well_is_no_answer():
    texts = ("f", "final", "final_", "final_answer", "final_answer_s", 'final_answer_sheet", "', "no_tool")
    assert [is_answer(text, GRADES) for text in texts] == [False] * 7
    assert [is_answer(text, GRADES) for text in ('final_answer"', 'final_answer", "', "final_answers")] == [True] * 3


@pytest.mark.parametrize(
    ("options", "wants"),
    [({"final": 0.9}, None), ({"final": 0.4, "add": 0.6}, False), ({'final_answer"': 0.5, "final": 0.4}, True)],
)
def test_it_is_not_known_what_the_model_wants_when_a_beginning_is_of_both(
    options: dict[str, float], wants: bool | None
):
    assert wants_answer(options, 0.5, GRADES) is wants


@pytest.mark.parametrize(
    ("written", "options", "contradicted"),
    [("final", {"final": 0.9}, False), ("add", {"final": 0.9}, False), ("final", {"add": 0.9}, False),
     ('final_answer"', {"add": 0.9}, True), ("add", {'final_answer"': 0.9}, True)],
)  # fmt: skip
def test_a_reply_is_not_left_because_of_a_beginning_that_is_of_both(
    written: str, options: dict[str, float], contradicted: bool
):
    point = DecisionPoint('"action": "', 0.5, GRADES)
    point.feed('{"action": "', [])
    point.feed(written, [(text, math.log(share)) for text, share in options.items()])
    assert point.contradicted is contradicted


@pytest.mark.parametrize("tokens", [['{"fits":', " true"], ['{"fits": ', "true"], ['{"fits"', ":", " ", "true"]])
def test_a_blank_before_a_value_may_be_of_either_token(tokens: list[str]):
    point = DecisionPoint('"fits": ')
    for token in tokens:
        blank = " " if token.startswith(" ") else ""
        point.feed(token, [(f"{blank}true", math.log(0.7)), (f"{blank}false", math.log(0.2))])
    assert point.options == {"true": pytest.approx(0.7), "false": pytest.approx(0.2)}
