"""Reading and mending citations, `[ID:i]`, in a text."""

from __future__ import annotations

import re
from collections.abc import Container

_CITATION = re.compile(r"\[ID:([^\[\]\n]{0,200})\]", re.IGNORECASE)
_SENTENCE = re.compile(r"(?:[.!?][\"')\]]{0,5}\s|[。！？\n])\W{0,12}\w")  # noqa: RUF001 - full-width stops are meant
_PARTS = re.compile(r"[,;\s]+|ID:", re.IGNORECASE)
_PASSES = 10


def checked(text: str, known: Container[int], most: int) -> tuple[str, list[int], list[str]]:
    """The text with only citations that exist, at most so many in a sentence; those it cites; those that were removed."""
    removed: dict[str, None] = {}
    for _ in range(_PASSES):
        fine, cited, wrong = _once(text, known, most)
        removed.update(dict.fromkeys(wrong))
        if fine == text:
            return text, cited, list(removed)
        text = fine  # what stood around a removed citation may be one itself: "[ID:[ID:7]9]"
    return _CITATION.sub("", text), [], list(removed)


def without_citations(text: str) -> str:
    """The words alone, without blanks, for comparing."""
    return "".join(_CITATION.sub("", text).split())


def _once(text: str, known: Container[int], most: int) -> tuple[str, list[int], list[str]]:
    pieces: list[str] = []
    cited: dict[int, None] = {}
    removed: dict[str, None] = {}
    here: list[int] = []
    end, tail, gap = 0, "", False
    for found in _CITATION.finditer(text):
        between = text[end : found.start()]
        end = found.end()
        if between:
            _add(pieces, between, gap)
            gap = False
        if _SENTENCE.search(tail + between):  # a citation may stand before the full stop or after it
            here = []
        tail = between.rstrip()[-1:] or tail
        kept: list[int] = []
        for part in filter(None, _PARTS.split(found[1])):
            if not (part.isascii() and part.isdigit() and len(part) < 16 and int(part) in known):
                removed[part] = None
            elif int(part) not in here and len(here) < most:
                here.append(int(part))
                kept.append(int(part))
        cited.update(dict.fromkeys(kept))
        pieces += [f"[ID:{number}]" for number in kept]
        gap = not kept and (gap or bool(between))
    _add(pieces, text[end:], gap)
    return "".join(pieces), list(cited), list(removed)


def _add(pieces: list[str], text: str, gap: bool) -> None:
    """Go on with the text after a citation; where one was removed, no blank is left before a full stop."""
    if gap and not text[:1].isalnum():
        pieces[-1] = pieces[-1].rstrip(" \t")
    pieces.append(text)
