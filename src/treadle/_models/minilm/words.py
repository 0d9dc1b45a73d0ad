"""Splits a text into the word pieces of BERT's uncased vocabulary (Apache-2.0), as its models were trained with."""

from __future__ import annotations

import lzma
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

UNKNOWN, START, END = 100, 101, 102
_LONGEST = 100


@cache
def vocabulary() -> dict[str, int]:
    words = lzma.decompress(Path(__file__).with_name("vocabulary.txt.xz").read_bytes()).decode().split("\n")
    return {word: number for number, word in enumerate(words)}


def token_ids(text: str, limit: int) -> list[int]:
    """The numbers of a text's pieces, at most `limit` with the marks at both ends."""
    entries, ids = vocabulary(), [START]
    for word in _words(text):
        ids.extend(_pieces(word, entries))
        if len(ids) >= limit:
            break
    return [*ids[: limit - 1], END]


def _words(text: str) -> Iterator[str]:
    """Lower case, without accents; punctuation and Chinese characters are words of their own."""
    current = ""
    for letter in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(letter)
        if kind == "Mn" or (kind in ("Cc", "Cf") and letter not in "\t\n\r"):
            continue
        if letter.isspace() or _stands_alone(letter, kind):
            if current:
                yield current
            current = ""
            if not letter.isspace():
                yield letter
        else:
            current += letter
    if current:
        yield current


def _stands_alone(letter: str, kind: str) -> bool:
    code = ord(letter)
    if code < 128:
        return not letter.isalnum()
    return kind.startswith("P") or 0x4E00 <= code <= 0x9FFF or 0x3400 <= code <= 0x4DBF or 0x20000 <= code <= 0x2FA1F


def _pieces(word: str, entries: dict[str, int]) -> list[int]:
    if len(word) > _LONGEST:
        return [UNKNOWN]
    ids: list[int] = []
    start = 0
    while start < len(word):
        prefix = "##" if start else ""
        for end in range(len(word), start, -1):
            number = entries.get(prefix + word[start:end])
            if number is not None:
                ids.append(number)
                start = end
                break
        else:
            return [UNKNOWN]
    return ids
