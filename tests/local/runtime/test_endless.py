"""Replies without an end are recognised while they are written."""

from __future__ import annotations

import json

from kit import row
from treadle._local.runtime.endless import EndlessText, is_endless


def test_a_value_that_only_repeats_itself_has_no_end():
    for text in ['{"ticket": "V' + "1234567890" * 16, '{"a": ' + "7" * 160, '{"a": "' + "no end " * 23]:
        with row(text):
            assert is_endless(text)
            assert seen(text)


def test_what_repeats_itself_and_ends_is_left_alone():
    for value in [
        "7" * 159,
        "=" * 400,
        "- " * 200,
        "| a | b |\n" + "| --- | --- |\n" * 40,
        "\n" * 200,
        "#        #\n" * 30,
        "".join(map(str, range(200))),
        "a sentence that is longer than that, " * 20,
        [0] * 200,
        [False] * 100,
        [[1, 0], [0, 1]] * 50,
        ["a"] * 100,
        [{"n": 1}] * 60,
    ]:
        with row(value):
            assert not seen(json.dumps({"value": value}))


def seen(text: str) -> bool:
    watching = EndlessText()
    for letter in text:
        watching.feed(letter)
    return watching.detected


def test_it_is_noticed_early():
    watching = EndlessText()
    written = 0
    while not watching.detected:
        watching.feed("12345")
        written += 5
    assert written == 160
