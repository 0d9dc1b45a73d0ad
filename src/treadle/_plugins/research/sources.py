"""What a run has read, by the ids it is cited with, and whether a sentence rests on it.

No model is asked: by the words, names and numbers of both (`_plugins.evidence`). A source speaks with the title of its
document, because a page says "he" of the person it is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from treadle._plugins.evidence.support import is_supported, support_of
from treadle._plugins.evidence.words import words_of
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
