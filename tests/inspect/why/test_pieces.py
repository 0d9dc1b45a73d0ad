"""Texts in pieces: each stands in the text as it is, and what is left of JSON is JSON."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from treadle._inspect.why.changes import edited
from treadle._inspect.why.pieces import pieces


def test_lines_then_sentences_then_clauses():
    assert pieces("One.\n\nTwo. Three.\n") == ["One.", "Two. Three."]
    assert pieces("Two. Three.") == ["Two.", "Three."]
    assert pieces("Be brief, from memory, and kind.") == ["Be brief, from memory, and kind."]
    assert pieces("Be brief, from memory, and kind.", clauses=True) == ["Be brief", ", from memory", ", and kind."]
    assert pieces("") == []
    assert len(pieces("\n".join(map(str, range(100))))) == 8


@given(st.text(max_size=200))
def test_a_piece_stands_in_the_text(text: str):
    assert all(piece in text for piece in pieces(text))
    assert all(piece in text for piece in pieces(text, clauses=True))


@given(st.lists(st.integers(0, 10**6), min_size=2, unique=True), st.sampled_from(["list", "objects", "object"]))
def test_json_without_an_element_is_json(numbers: list[int], shape: str):
    """Where an element stands there once only, as here: else it goes everywhere."""
    named = [f"<{number}>" for number in numbers]
    shapes = {"list": named, "objects": [{"name": name} for name in named], "object": dict.fromkeys(named, 1)}
    text = json.dumps(shapes[shape])
    cut = pieces(text, 10_000)
    assert len(cut) == len(numbers)
    for piece in cut:
        assert len(json.loads(text.replace(piece, ""))) == len(numbers) - 1


def test_a_line_goes_with_its_break_wherever_it_stands():
    assert edited("a\nb\nc\nb", "b", "") == "a\nc"
    assert edited("a", "", "b") == "a\nb"
    assert edited("", "", "b") == "b"
    assert edited("x y", "y", "z") == "x z"
