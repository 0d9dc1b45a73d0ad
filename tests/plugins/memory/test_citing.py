"""Reading and repairing citations in a text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle._plugins.memory.citations import repair_citations, without_citations


@pytest.mark.parametrize(
    ("text", "fine", "cited", "removed"),
    [
        ("It rains [ID:1].", "It rains [ID:1].", [1], []),
        ("It rains [ID:9].", "It rains.", [], ["9"]),
        ("It rains [ID: 1].", "It rains [ID:1].", [1], []),
        ("It rains [ID:1, 2].", "It rains [ID:1][ID:2].", [1, 2], []),
        ("It rains [ID:1][ID:9][ID:2].", "It rains [ID:1][ID:2].", [1, 2], ["9"]),
        ("It rains [id:1; ID:2].", "It rains [ID:1][ID:2].", [1, 2], []),
        ("It rains [ID:abc] and [ID:].", "It rains and.", [], ["abc"]),
        ("A [ID:1][ID:2][ID:3][ID:4][ID:5].", "A [ID:1][ID:2][ID:3][ID:4].", [1, 2, 3, 4], []),
        ("A [ID:1] b [ID:2] c [ID:3] d [ID:4] e [ID:5].", "A [ID:1] b [ID:2] c [ID:3] d [ID:4] e.", [1, 2, 3, 4], []),
        ("A [ID:1][ID:2][ID:3][ID:4]. B [ID:5].", "A [ID:1][ID:2][ID:3][ID:4]. B [ID:5].", [1, 2, 3, 4, 5], []),
        ("A. [ID:1][ID:2][ID:3][ID:4] B. [ID:5]", "A. [ID:1][ID:2][ID:3][ID:4] B. [ID:5]", [1, 2, 3, 4, 5], []),
        (
            "It costs 3.5 [ID:1][ID:2][ID:3], not 4.5 [ID:4][ID:5].",
            "It costs 3.5 [ID:1][ID:2][ID:3], not 4.5 [ID:4].",
            [1, 2, 3, 4],
            [],
        ),
        (
            "- one [ID:1][ID:2][ID:3]\n- two [ID:4][ID:5]",
            "- one [ID:1][ID:2][ID:3]\n- two [ID:4][ID:5]",
            [1, 2, 3, 4, 5],
            [],
        ),
        (
            "雨です[ID:1][ID:2][ID:3][ID:4]。晴れ[ID:5]。",
            "雨です[ID:1][ID:2][ID:3][ID:4]。晴れ[ID:5]。",
            [1, 2, 3, 4, 5],
            [],
        ),
        ("Nested [ID:[ID:7]9] [ID:[ID:7]1].", "Nested [ID:1].", [1], ["7", "9"]),
        ("Twice [ID:1][ID:1].", "Twice [ID:1].", [1], []),
        ("Huge [ID:99999999999999999999999].", "Huge.", [], ["99999999999999999999999"]),
        ("An [ID card] and a[0] and [1].", "An [ID card] and a[0] and [1].", [], []),
    ],
)
def test_checked(text: str, fine: str, cited: list[int], removed: list[str]):
    assert repair_citations(text, {1, 2, 3, 4, 5}, 4) == (fine, cited, removed)


PARTS = ["word ", "[ID:1]", "[ID:2]", "[ID:7]", " [ID:3, 8]", ". ", "\n", "]", "3.5", "[ID:x]"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=30))
def test_checked_leaves_only_what_exists_and_every_other_word(parts: list[str]):
    text = "".join(parts)
    fine, cited, removed = repair_citations(text, {1, 2, 3}, 4)
    assert {int(number) for number in re.findall(r"\[ID:(\d+)\]", fine)} == set(cited) <= {1, 2, 3}
    assert without_citations(fine) == without_citations(text)
    assert re.findall(r"\w+", re.sub(r"\[ID:[^\]]*\]", "", fine)) == re.findall(
        r"\w+", re.sub(r"\[ID:[^\]]*\]", "", text)
    )
    assert repair_citations(fine, {1, 2, 3}, 4)[0] == fine, "doing it again changes nothing"
    assert set(removed) <= {"7", "8", "x"}


@pytest.mark.parametrize(
    "text",
    [
        " " * 200_000,
        "\n" * 200_000,
        "[ID:" * 50_000 + "]" * 50_000,
        "." * 200_000,
        "[ID:" + "1," * 100_000 + "]",
    ],
    ids=["blanks", "lines", "nested", "stops", "many"],
)
def test_a_long_hostile_answer_is_read_in_linear_time(text: str):
    """Linear, it takes a part of a second; anything worse takes hours, which the limit turns into a failure."""
    fine, cited, _ = repair_citations(text + " word [ID:1]", {1}, 4)
    assert not cited or "[ID:1]" in fine
