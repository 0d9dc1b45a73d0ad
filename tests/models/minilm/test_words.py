"""Word pieces as the model was trained with: the expected ones follow the rules of BERT's uncased word pieces."""

from __future__ import annotations

from kit import row
from treadle._models.minilm.embeddings import END, START, UNKNOWN, token_ids, vocabulary


def test_pieces():
    names = {number: word for word, number in vocabulary().items()}
    for text, pieces in [
        ("Zoë's café, tokenization!", ["zoe", "'", "s", "cafe", ",", "token", "##ization", "!"]),
        ("東京 2024", ["東", "京", "202", "##4"]),
        ("a\tb\u200bc\n", ["a", "bc"]),
        ("", []),
    ]:
        with row(text, pieces):
            assert [names[number] for number in token_ids(text, 64)[1:-1]] == pieces


def test_the_limit_holds_with_both_marks():
    ids = token_ids("word " * 1000, 10)
    assert len(ids) == 10
    assert (ids[0], ids[-1]) == (START, END)
    assert token_ids("x" * 101, 10) == [START, UNKNOWN, END]
    assert len(vocabulary()) == 30_522
