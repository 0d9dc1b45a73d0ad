"""Of JSON, the strings that are an answer or a thought are shown while they are written; arguments never are."""

from __future__ import annotations

from itertools import pairwise

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kit import row
from treadle._dialects.watching.json_fields import JsonFields


def seen(text: str, *cuts: int, completion: str = "") -> tuple[str, str]:
    """The answer and the thought."""
    watcher = JsonFields(completion)
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    pieces = [piece for start, end in pairwise(places) for piece in watcher.feed(text[start:end])]
    return tuple("".join(piece.text for piece in pieces if piece.answer is kind) for kind in (True, False))


def test_what_is_shown_however_it_is_cut():
    for text, answer, thought in [
        ('{"thought": "t", "action": "final_answer", "final_answer": "yes"}', "yes", "t"),
        ('{"reasoning": "r", "type": "final_answer", "answer": "yes"}', "yes", "r"),
        ('So:\n```json\n{"answer": "a \\"b\\" \\\\ \\n c"}\n```', 'a "b" \\ \n c', ""),
        ('{"thought": "t", "action": "mail", "args": {"answer": "secret", "thought": "no"}}', "", "t"),
        ('{"action": "mail", "answer": "secret"}', "", ""),
        ('{"answer": {"answer": "inner"}}', "inner", ""),
        ('{"answer": 3}', "", ""),
        ('["answer", "x"]', "", ""),
    ]:
        with row(text, answer, thought):
            for size in (1, 2, 3, 7, 1000):
                assert seen(text, *range(0, len(text), size)) == (answer, thought)


def test_the_call_that_completes_the_task_answers():
    text = '[{"name": "done", "arguments": {"answer": "yes"}}]'
    assert seen(text, completion="done") == ("yes", "")
    assert seen(text) == ("yes", ""), "it is a usual name for it"
    assert seen(text.replace("done", "mail"), completion="done") == ("", "")


@given(st.text(), st.lists(st.integers(0, 500), max_size=10), st.booleans())
def test_any_text_comes_through_however_it_is_escaped_and_cut(text: str, cuts: list[int], ascii_only: bool):
    text = text.encode("utf-8", "replace").decode()
    value = {"type": "final_answer", "answer": text}
    if ascii_only:
        import json

        written = json.dumps(value)
    else:
        written = msgspec.json.encode(value).decode()
    assert seen(written, *cuts) == (text, "")


@given(st.text(alphabet='{}[]",:\\ua1nswer', max_size=80), st.lists(st.integers(0, 200), max_size=6))
def test_broken_json_breaks_nothing(text: str, cuts: list[int]):
    seen(text, *cuts)
