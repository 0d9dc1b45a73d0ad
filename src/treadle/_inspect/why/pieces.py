"""Texts in pieces: lines, then sentences, then clauses or the elements of JSON. A piece stands in the text as it is."""

from __future__ import annotations

import re

PIECES = 8
"""How many pieces a text is cut into at a time."""
_SENTENCE = re.compile(r"\S.*?(?:[.!?;](?=\s)|$)", re.DOTALL)
_OPEN, _CLOSE = "[{(", "]})"


def pieces(text: str, most: int = PIECES, *, clauses: bool = False) -> list[str]:
    """The text as at most so many pieces. One that cannot be cut any smaller is given as it is; `clauses` cuts
    sentences, too, of which what is left may mean nothing."""
    spans = [match.span() for match in re.finditer(r"[^\n]*\S[^\n]*", text)]
    if len(spans) == 1:
        spans = _elements(text) or [match.span() for match in _SENTENCE.finditer(text)]
    if len(spans) == 1 and clauses:
        spans = _clauses(text) or spans
    if len(spans) <= 1:
        return [text[start:end] for start, end in spans]
    size = -(-len(spans) // most)
    groups = [spans[index : index + size] for index in range(0, len(spans), size)]
    return [text[group[0][0] : group[-1][1]] for group in groups]


def _elements(text: str) -> list[tuple[int, int]]:
    """The elements of the first list or object of a JSON text, each with a comma: what is left is JSON still."""
    if not text.lstrip().startswith(("[", "{", '"')):
        return []
    depth, start, quoted = 0, -1, False
    commas: list[int] = []
    index = 0
    while index < len(text):
        char = text[index]
        if char == "\\" and quoted:
            index += 1
        elif char == '"':
            quoted = not quoted
        elif not quoted and char in "[{":
            depth += 1
            start = index + 1 if start < 0 else start
        elif not quoted and char in "]}":
            depth -= 1
            if depth == 0:
                break
        elif not quoted and char == "," and depth == 1:
            commas.append(index)
        index += 1
    if not commas or depth or index >= len(text):
        return []
    spans = [(before, comma + 1) for before, comma in zip([start, *(c + 1 for c in commas)], commas, strict=False)]
    return [*spans, (commas[-1], index)]


def _clauses(text: str) -> list[tuple[int, int]]:
    """Return the clauses of a sentence between commas, each with the comma before it."""
    depth, cuts = 0, [0]
    for index, char in enumerate(text):
        depth += (char in _OPEN) - (char in _CLOSE)
        if char in ",:" and depth == 0 and index + 1 < len(text) and text[index + 1] == " ":
            cuts.append(index)
    spans = [(start, end) for start, end in zip(cuts, [*cuts[1:], len(text.rstrip())], strict=True) if end > start]
    return spans if len(spans) > 1 else []
