"""Reading and repairing citations, `[ID:i]`, in a text."""

from __future__ import annotations

import re
from collections.abc import Container

_CITATION = re.compile(r"\[ID:([^\[\]\n]{0,200})\]", re.IGNORECASE)
_SENTENCE = re.compile(r"(?:[.!?][\"')\]]{0,5}\s|[。！？\n])\W{0,12}\w")  # noqa: RUF001 - full-width stops are meant
_PARTS = re.compile(r"[,;\s]+|ID:", re.IGNORECASE)
_MAX_PASSES = 10


def repair_citations(text: str, existing: Container[int], most: int) -> tuple[str, list[int], list[str]]:
    """The text with only citations of existing ids, at most so many in a sentence; the ids it cites; those removed."""
    removed: dict[str, None] = {}
    for _ in range(_MAX_PASSES):
        repaired, cited, unknown = _one_pass(text, existing, most)
        removed.update(dict.fromkeys(unknown))
        if repaired == text:
            return text, cited, list(removed)
        text = repaired  # the text around a removed citation may be one itself: "[ID:[ID:7]9]"
    return _CITATION.sub("", text), [], list(removed)


def without_citations(text: str) -> str:
    """The text without citations and blanks, to compare two texts."""
    return "".join(_CITATION.sub("", text).split())


def _one_pass(text: str, existing: Container[int], most: int) -> tuple[str, list[int], list[str]]:
    pieces: list[str] = []
    cited: dict[int, None] = {}
    removed: dict[str, None] = {}
    in_sentence: list[int] = []
    end, tail, gap = 0, "", False
    for match in _CITATION.finditer(text):
        between = text[end : match.start()]
        end = match.end()
        if between:
            _add(pieces, between, gap)
            gap = False
        if _SENTENCE.search(tail + between):  # a citation may stand before the full stop or after it
            in_sentence = []
        tail = between.rstrip()[-1:] or tail
        kept: list[int] = []
        for part in filter(None, _PARTS.split(match[1])):
            if not (part.isascii() and part.isdigit() and len(part) < 16 and int(part) in existing):
                removed[part] = None
            elif int(part) not in in_sentence and len(in_sentence) < most:
                in_sentence.append(int(part))
                kept.append(int(part))
        cited.update(dict.fromkeys(kept))
        pieces += [f"[ID:{number}]" for number in kept]
        gap = not kept and (gap or bool(between))
    _add(pieces, text[end:], gap)
    return "".join(pieces), list(cited), list(removed)


def _add(pieces: list[str], text: str, gap: bool) -> None:
    """Append the text after a citation; where one was removed, no blank is left before a full stop."""
    if gap and not text[:1].isalnum():
        pieces[-1] = pieces[-1].rstrip(" \t")
    pieces.append(text)
