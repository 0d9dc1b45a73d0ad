"""Replies without an end are recognised while they are written."""

from __future__ import annotations

import pytest

from treadle._models.transport.endless import EndlessText, is_endless


@pytest.mark.parametrize(
    ("text", "endless"),
    [
        ('{"action": "trace", "args": {"ticket": "V' + "1234567890" * 16, True),
        ("7" * 160, True),
        ("no end " * 23, True),
        ("7" * 159, False),
        ("=" * 400, False),
        ("- " * 200, False),
        ("| --- | --- |\n" * 40, False),
        ("1234567890" * 16 + '"}}', False),
        ("".join(map(str, range(200))), False),
        ("a sentence that is longer than that, " * 20, False),
    ],
    ids=["a number", "a digit", "words", "short", "a line", "dashes", "rules", "ended", "counting", "a long sentence"],
)
def test_a_text_that_only_repeats_itself_has_no_end(text: str, endless: bool):
    assert is_endless(text) is endless
    seen = EndlessText()
    for letter in text:
        seen.feed(letter)
    assert seen.found is (endless or text.endswith('"}}')), "one that has ended was without an end before"


def test_it_is_noticed_early():
    seen = EndlessText()
    written = 0
    while not seen.found:
        seen.feed("12345")
        written += 5
    assert written == 160
