"""Which words of an answer are learnt with less weight, and forms in which written results are shown."""

from __future__ import annotations

import json
import random

import pytest

from training import telling
from training.worlds import formats
from training.written import showing

PROMPT = (
    "<|im_start|>system\nTools: the fastest of all<|im_end|>\n"
    "<|im_start|>user\nWhich berth does Ada leave from?<|im_end|>\n"
    '<|im_start|>user\n{"vessel": "Tern Island", "leaves": "20:15", "berth": "North Quay"}<|im_end|>\n'
)


def counted(reply: str, prompt: str = PROMPT) -> str:
    """The letters that count in full; the others as dots."""
    letters = list(reply)
    for start, end in telling.free_letters(prompt, reply):
        letters[start:end] = "." * (end - start)
    return "".join(letters)


def test_what_was_said_and_numbers_count_and_how_a_sentence_is_put_does_not() -> None:
    reply = '{"action": "final_answer", "final_answer": "The fastest is Ada, from North Quay at 20:15.", "x": 1}'
    assert counted(reply) == (
        '{"action": "final_answer", "final_answer": "...............Ada..from.North.Quay....20:15.", "x": 1}'
    )


def test_yes_and_no_count_in_any_of_the_languages() -> None:
    assert counted('"final_answer": "No, it is 7."') == '"final_answer": "No........7."'
    assert counted('"final_answer": "Nein."') == '"final_answer": "Nein."'


def test_so_does_what_makes_the_contrary_of_a_sentence() -> None:
    assert counted('"final_answer": "It is not Ada"') == '"final_answer": "......not.Ada"'


def test_a_new_line_or_sentence_is_no_part_of_its_first_word() -> None:
    assert (
        counted(r'"final_answer": "so:\nNorth. The Quay"', PROMPT + "The") == r'"final_answer": ".....North......Quay"'
    )


def test_a_call_counts_as_it_is() -> None:
    assert telling.free_letters(PROMPT, '{"action": "berth_plan", "args": {"text": "where is it"}}') == []


def test_an_answer_with_quotes_in_it_is_seen_to_its_end() -> None:
    assert counted(r'"final_answer": "so \"a\" of Tern b", "task_successful": true') == (
        r'"final_answer": "............Tern..", "task_successful": true'
    )


def test_a_result_is_shown_in_another_form_and_has_all_that_it_had() -> None:
    rows = [{"code": "A1", "free": True, "for": ["dogs", "cats"]}, {"code": "B2", "free": False, "for": []}]
    text = showing.shown({"house": "North", "rooms": rows}, formats.one(random.Random(1)), formats.csv)
    assert text == "house: North\nrooms:\ncode;free;for\nA1;yes;dogs, cats\nB2;no;-"


@pytest.mark.parametrize("form", formats.FORMATS)
def test_no_form_loses_a_name_or_a_value(form: formats.Format) -> None:
    text = form([{"start": "21:30", "end": "23:00"}, {"start": "06:15", "end": "07:45"}]).lower()
    assert all(part in text for part in ("start", "end", "21:30", "23:00", "06:15", "07:45"))


def test_keys_have_one_order_in_all_results_of_a_tool() -> None:
    first, second = showing.shuffled(5, {"a": 1, "b": 2, "c": 3}), showing.shuffled(5, {"c": 3, "x": 0, "b": 2, "a": 1})
    assert list(first) == [key for key in second if key != "x"]


def test_what_no_form_can_show_stays_as_it_is() -> None:
    deep = {"a": {"b": [{"c": [{"d": 1}]}]}}
    assert showing.shown(deep, formats.one(random.Random(1)), formats.csv) is None
    assert showing.shown([1, 2], formats.one(random.Random(1)), formats.csv) is None
    results = showing.shown_otherwise(random.Random(3), [("look", "a text"), ("look", deep), ("look", None)])
    assert results[0] == "a text"
    assert results[1] == deep or json.loads(results[1]) == deep
    assert results[2] is None


def test_each_tool_shows_all_its_results_in_one_form() -> None:
    forms: set[str] = set()
    for seed in range(40):
        first, second = showing.shown_otherwise(
            random.Random(seed), [("card", {"name": "Ada", "age": 36}), ("card", {"name": "Bob", "age": 41})]
        )
        shape = str(first).replace("Ada", "N").replace("36", "0")
        assert shape == str(second).replace("Bob", "N").replace("41", "0")
        forms.add(shape)
    assert len(forms) > 5
