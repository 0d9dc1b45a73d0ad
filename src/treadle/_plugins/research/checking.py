"""An answer whose citations have the words of their sentences: others are removed, replaced, or the sentence marked."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from treadle._plugins.evidence.words import Sentence, sentences, words_of
from treadle._plugins.research.sources import Sources

_CITATION = re.compile(r"[ \t]{0,4}\[ID:[^\[\]\n]{0,200}\]", re.IGNORECASE)
_STOP = re.compile(r"[.!?。！？]{1,8}[\"')\]*_]{0,8}$")  # noqa: RUF001 - full-width stops are meant
UNSOURCED = "[no source]"
WORDS_ONLY = "[only words match]"
"""Behind a citation whose source has the words of the sentence, and of which no rule can tell whether it says so."""
_MARK = re.compile(rf" ?(?:{re.escape(UNSOURCED)}|{re.escape(WORDS_ONLY)})")
Unsupported = Literal["mark", "drop", "keep"]


class Checked(Struct, frozen=True):
    """What became of a sentence."""

    text: str
    cited: tuple[int, ...]
    """The sources it cites now."""
    removed: tuple[int, ...] = ()
    """Sources it had cited and does not rest on."""
    why: str = ""
    """Why it rests on none; empty where it does, and where there is nothing to rest."""
    words_only: bool = False
    """What it cites has its words and does not contradict it; whether it says so cannot be told by rule."""


class Report(Struct, frozen=True):
    answer: str
    sentences: tuple[Checked, ...]

    @property
    def unsupported(self) -> tuple[Checked, ...]:
        return tuple(one for one in self.sentences if one.why)


def checked_answer(answer: str, sources: Sources, unsupported: Unsupported = "mark") -> Report:
    """The answer with only citations that have their sentence's words; one that fits is put where there was none."""
    pieces: list[str] = []
    done: list[Checked] = []
    end = 0
    for sentence in sentences(answer):
        one = _checked(sentence, sources)
        done.append(one)
        between = answer[end : sentence.start]
        end = sentence.end
        if one.why and unsupported == "drop":
            pieces.append(between if "\n" in between else "")
            continue
        mark = _mark(one, unsupported)
        pieces += [between, _with(one.text, one.cited, mark)]
    pieces.append(answer[end:])
    return Report("".join(pieces).strip(), tuple(done))


def _mark(one: Checked, unsupported: Unsupported) -> str:
    if one.why:
        return f" {UNSOURCED}" if unsupported == "mark" else ""
    return f" {WORDS_ONLY}" if one.words_only and unsupported != "keep" else ""


def _checked(sentence: Sentence, sources: Sources) -> Checked:
    text = _MARK.sub("", _CITATION.sub("", sentence.text))
    numbers = [int(part) for part in sentence.cited if part.isascii() and part.isdigit() and len(part) < 16]
    words = words_of(text)
    if text.rstrip("\"')*_ ").endswith(("?", ":")) or not (words.content or words.numbers):
        return Checked(text, (), tuple(numbers))  # it claims nothing that could be looked up
    holding = sources.holding(text, numbers)
    removed = tuple(number for number in numbers if number not in holding)
    only = bool(holding) and not sources.say(text, holding)
    return Checked(text, holding, removed, "" if holding else _why(text, numbers, sources), only)


def _why(text: str, numbers: list[int], sources: Sources) -> str:
    if not sources.texts:
        return "nothing was read that it could rest on"
    if not numbers:
        return "no source that was read has it"
    if unknown := [number for number in numbers if number not in sources.texts]:
        return f"there is no source {unknown[0]}"
    return f"its source does not say so: {sources.why_not(text, numbers)}"


def _with(text: str, cited: tuple[int, ...], mark: str) -> str:
    """The sentence with its citations before the full stop."""
    ids = "".join(f"[ID:{number}]" for number in cited)
    added = (f" {ids}" if ids else "") + mark
    if not added:
        return text
    stop = _STOP.search(text)
    return text + added if stop is None else text[: stop.start()] + added + stop[0]
