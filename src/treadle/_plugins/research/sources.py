"""What a run has read, by the ids it is cited with, and an answer whose citations have the words of their sentences.

No model is asked: by the words, names and numbers of both (`_plugins.evidence`). A source speaks with the title of its
document, because a page says "he" of the person it is about. Citations that do not fit are removed or replaced, or the
sentence is marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from treadle._plugins.evidence.support import is_supported, support_of
from treadle._plugins.evidence.words import Sentence, sentences, words_of
from treadle._plugins.memory.citations import chunks_in
from treadle._types.events import Record, StepDone, ToolDone
from treadle._types.messages import text_of
from treadle._types.usage import Step

_MAX_TRIED = 12
"""Sources looked at for a sentence that cites none, those with most of its words first."""


class Sources:
    """The sources of a run."""

    def __init__(self, texts: Mapping[int, tuple[str, str]]) -> None:
        self.texts = dict(texts)
        """Title and text of each, by id."""
        self._words = {number: words_of(f"x {title} {text}").content for number, (title, text) in self.texts.items()}

    def why_not(self, sentence: str, ids: Iterable[int]) -> str:
        """Why a sentence does not rest on these sources together; empty if it does."""
        return support_of(sentence, [self.texts[number] for number in ids if number in self.texts])

    def say(self, sentence: str, ids: Iterable[int]) -> bool:
        """Return whether one of these sources says so, not only with the same words."""
        return any(is_supported(sentence, [self.texts[number]]) for number in ids if number in self.texts)

    def holding(self, sentence: str, cited: Sequence[int], most: int = 4) -> tuple[int, ...]:
        """The sources a sentence rests on: those of the cited ones that bear it, each alone or, if none does, together;
        else one of the others. None if there is none."""
        known = [number for number in dict.fromkeys(cited) if number in self.texts]
        alone = tuple(number for number in known if not self.why_not(sentence, [number]))
        if alone:
            return alone[:most]
        together = self._together(sentence, known[:most])
        if together:
            return together
        for number in self._likeliest(sentence):
            if number not in known and not self.why_not(sentence, [number]):
                return (number,)
        return ()

    def _together(self, sentence: str, known: Sequence[int]) -> tuple[int, ...]:
        """Those of several sources without which the sentence would not rest on them."""
        if len(known) < 2 or self.why_not(sentence, known):
            return ()
        needed = list(known)
        for number in known:
            rest = [other for other in needed if other != number]
            if rest and not self.why_not(sentence, rest):
                needed = rest
        return tuple(needed)

    def _likeliest(self, sentence: str) -> list[int]:
        words = words_of(sentence).content
        shared = {number: len(words & found) for number, found in self._words.items()}
        ranked = sorted((number for number in shared if shared[number]), key=lambda number: (-shared[number], number))
        return ranked[:_MAX_TRIED]


def sources_of(records: Sequence[Record]) -> Sources:
    """Return what the records of a run have, by the ids they are cited with; of a plan, what its steps have read."""
    texts: dict[int, tuple[str, str]] = {}
    for record in records:
        event = record.event
        if isinstance(event, ToolDone) and not event.error:
            for chunk in chunks_in(event.full if event.full is not None else text_of(event.content)):
                texts[chunk.id] = (chunk.document, chunk.text)
        elif isinstance(event, StepDone) and event.work is not None:
            for step in event.work.calls:
                _add(texts, step)
    return Sources(texts)


def _add(texts: dict[int, tuple[str, str]], step: Step) -> None:
    """Each step of a plan counts from one: where two mean different things by a number, the later gets one of its
    own."""
    for chunk in () if step.error else chunks_in(step.observation):
        said = (chunk.document, chunk.text)
        if said in texts.values():
            continue
        texts[chunk.id if chunk.id not in texts else max(texts) + 1] = said


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
