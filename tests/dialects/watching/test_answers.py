"""Replies that may only answer, and the words in those that could not be read."""

from __future__ import annotations

from kit import row
from treadle._dialects.registry import get_dialect
from treadle._dialects.watching.answers import answer_watcher, words_in


def test_an_answer_is_read_in_its_form_and_in_plain_words():
    for text in ["It is 3.", '{"reasoning": "SECRET", "type": "final_answer", "answer": "It is 3."}']:
        with row(text):
            watcher = answer_watcher(get_dialect("json"))
            pieces = [piece for char in text for piece in watcher.feed(char)]
            assert "".join(piece.text for piece in pieces if piece.answer) == "It is 3."


def test_an_unreadable_reply_gives_its_words_and_never_a_thought():
    for dialect, text, words in [
        ("json", "It is 3.", "It is 3."),
        ("json", '{"reasoning": "SECRET", "answer": "It is', "It is"),
        ("json", 'SECRET {"type": "tool', ""),
        ("action", "It is 3.", "It is 3."),
        ("action", 'SECRET\nAction: {"tool": "a', ""),
        ("native", "It is 3.", "It is 3."),
        ("native", '{"name": "add", "arguments": {', ""),
    ]:
        with row(dialect, text, words):
            assert words_in(get_dialect(dialect), text) == words
