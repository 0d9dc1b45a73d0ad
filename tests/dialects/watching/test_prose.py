"""Words are shown at once; what may be the start of something else is held, and a call never shows."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kit import row
from treadle._dialects.watching.base import Piece
from treadle._dialects.watching.prose import Manner, Prose

NATIVE, ACTION, CODE = Manner(), Manner(marked=True), Manner(fenced=True)


def seen(text: str, manner: Manner = NATIVE, *cuts: int, tools: bool = True) -> list[Piece]:
    watcher = Prose(manner, tools=tools)
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [piece for start, end in pairwise(places) for piece in watcher.feed(text[start:end])]


def answer_in(pieces: list[Piece]) -> str:
    text = ""
    for piece in pieces:
        text = "" if piece.begins else text
        text += piece.text if piece.answer else ""
    return text


def test_the_first_word_is_shown_at_once():
    watcher = Prose(NATIVE, tools=True)
    assert watcher.feed("H") == [Piece("H")]
    assert watcher.feed("ello") == [Piece("ello")]


def test_what_is_shown_however_it_is_cut():
    for text, manner, shown in [
        ("I look. <tool_call>{}</tool_call>", NATIVE, "I look."),
        ("I look. <|tool_calls_section_begin|>", NATIVE, "I look."),
        ("[TOOL_CALLS]add{}", NATIVE, ""),
        ('{"name": "add"}', NATIVE, ""),
        ('```json\n{"name": "add"}\n```', NATIVE, ""),
        ("```python\nprint(1)\n```", NATIVE, "```python\nprint(1)\n```"),
        ("List<int> is < a type", NATIVE, "List<int> is < a type"),
        ('I look.\nAction: {"tool": "x"}', ACTION, "I look."),
        ('I look.\n**Action:** {"tool": "x"}', ACTION, "I look."),
        ("Action is needed. Yes, act: now", ACTION, "Action is needed. Yes, act: now"),
        ("Thought: so it is", ACTION, "so it is"),
        ('I call\n{"tool": "x"}', ACTION, "I call"),
        ("So: <__final_answer__>yes</__final_answer__> no", ACTION, "yes"),
        ("So.\nFinal Answer: **yes**", ACTION, "yes**"),
        ("I run it.\n```python\nprint(1)\n```", CODE, "I run it."),
        ("As JSON:\n```json\n{}\n```\nthat is it", CODE, "As JSON:\n```json\n{}\n```\nthat is it"),
    ]:
        with row(text, manner, shown):
            for size in (1, 2, 3, 5, 8, 1000):
                assert answer_in(seen(text, manner, *range(0, len(text), size))).strip() == shown


def test_thinking_is_a_thought():
    pieces = seen("<think>hm, so</think>\nYes", NATIVE, *range(30))
    assert "".join(piece.text for piece in pieces if not piece.answer) == "hm, so"
    assert answer_in(pieces).strip() == "Yes"


def test_without_tools_nothing_can_be_a_call():
    assert answer_in(seen('{"a": 1}', tools=False)) == '{"a": 1}'
    assert answer_in(seen("<tool is a word", tools=False)) == "<tool is a word"


@given(st.text(alphabet="<_>final/ answerAction:\n`{[x", max_size=60), st.lists(st.integers(0, 200), max_size=8))
def test_cuts_change_nothing_but_the_pieces(text: str, cuts: list[int]):
    for manner in (NATIVE, ACTION, CODE):
        shown = answer_in(seen(text, manner, *cuts))
        assert shown.strip() == answer_in(seen(text, manner, *range(len(text)))).strip()
        assert shown in text, "nothing is shown that was not written"
