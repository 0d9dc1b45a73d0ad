"""Each sentence of an answer: supported by a record, contradicted, or only its words stand in some, or not even these.

No model is asked: the words, names and numbers of a sentence are looked for in a few passages of the log, and each of
these is compared with it (`meaning`). A sentence in other words than its source stays open although it is true. What an
answer says was done is held against the calls that acted, too (`_engine.receipts`).
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from treadle._engine.receipts.matching import Deeds, Receipt
from treadle._plugins.evidence.meaning import compare
from treadle._plugins.evidence.words import Sentence, Words, derived_from, sentences, without_denial, words_of
from treadle._types.events import Noted, Record, ToolDone
from treadle._types.messages import text_of

MAX_PASSAGES = 50_000
MAX_CHARACTERS = 10_000_000
"""Of all texts together; what comes after these two bounds is no ground."""
_MAX_PART = 100_000
"""Characters of a text that are read at once: nothing else of the process runs meanwhile."""
_MAX_DEPTH = 30


class Passage(Struct, frozen=True):
    run: str
    seq: int
    text: str
    words: Words
    cited_as: str = ""
    """The id it is cited with, `[ID:i]`, if it is a passage of a knowledge base."""
    title: str = ""
    """What it is about, where that is known."""


def passages_of(logs: Mapping[str, Sequence[Record]]) -> list[Passage]:
    """The passages of a run and of the runs inside it."""
    found: list[Passage] = []
    left = MAX_CHARACTERS
    for run, records in logs.items():
        for record in records:
            text = ground_of(record, logs)
            for piece, cited in _pieces(text[:left]) if text else ():
                for sentence in (one for part in _parts(piece) for one in sentences(part)):
                    found.append(Passage(run, record.seq, sentence.text, words_of(sentence.text), cited))
                    if len(found) >= MAX_PASSAGES:
                        return found
            left -= len(text)
            if left <= 0:
                return found
    return found


def _parts(text: str) -> Iterator[str]:
    """A text as it is, or cut where a line or a word ends."""
    begin = 0
    while len(text) - begin > _MAX_PART:
        end = begin + _MAX_PART
        at = max(text.rfind("\n", begin + 1, end), text.rfind(" ", begin + 1, end))
        end = at if at > 0 else end
        yield text[begin:end]
        begin = end
    yield text[begin:]


def ground_of(record: Record, logs: Mapping[str, Sequence[Record]]) -> str:
    """The text of a record that an answer may rest on; empty for every other record. The one place that says so.

    What a model wrote is no ground, nor is what a user asked for: a request is not evidence that it was met. The result
    of an agent that was asked is none either: what its own tools said is.
    """
    event = record.event
    if not isinstance(event, ToolDone) or not event.executed or event.error or f"{record.run}.{event.call_id}" in logs:
        return ""
    return event.full if event.full is not None else text_of(event.content)


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """A text, or each object of a JSON value as a line of its fields: what stands together belongs together."""
    if text[:1] not in "{[":
        yield text, ""
        return
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        yield text, ""
        return
    yield from _objects(value, "", 0)


def _objects(value: Any, name: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        cited = str(fields["id"]) if "id" in fields and "document" in fields and "text" in fields else ""
        if cited:
            yield str(fields["text"]), cited
            return
        plain = {key: item for key, item in fields.items() if not isinstance(item, dict | list)}
        if plain:
            yield ", ".join(f"{key}: {item}" for key, item in plain.items()), ""
        for key, item in fields.items():
            if isinstance(item, dict | list):
                yield from _objects(item, key, depth + 1)
    elif isinstance(value, list):
        items = cast("list[Any]", value)
        plain = [str(item) for item in items if not isinstance(item, dict | list)]
        if plain:
            yield f"{name}: {', '.join(plain)}" if name else "\n".join(plain), ""
        for item in items:
            if isinstance(item, dict | list):
                yield from _objects(item, name, depth + 1)
    else:
        yield str(value), ""


METHOD = "support-2"
"""The name of what is done here; a proof says by which it was made."""
JUDGE = "judge"
"""The component that notes what a judge has said of sentences that no rule decides."""
ENOUGH = 0.6
"""The share of a sentence's words that must stand in its grounds."""
NOT_LOOKED_UP = "it was not looked up: the answer and its log are too large"
_MAX_GROUNDS = 3
MAX_SENTENCES = 500
MAX_ANSWER = 500_000
"""Characters of an answer that are looked at."""
_MAX_PLACES = 5_000
"""A word that stands in more passages than these finds the first of them."""
_MAX_VOTES = 4_000_000
"""For all sentences of an answer: it bounds the time, and is the same on every machine."""
_MAX_OPERANDS = 12
_ALIKE = 2
"""Words that two numbers share with a sentence in which they are added up."""


Status = Literal["supported", "receipted", "contradicted", "words", "unsupported", "empty"]


class Ground(Struct, frozen=True, omit_defaults=True):
    run: str
    seq: int
    quote: str
    """The passage, as it stands in the record."""


class NumberLink(Struct, frozen=True, omit_defaults=True):
    text: str
    run: str = ""
    seq: int = -1
    """The record that has the number; -1 for none."""
    worked_out: str = ""
    """How it follows from two numbers in the records: `17 * 23`."""


class Claim(Struct, frozen=True, omit_defaults=True):
    """A sentence of the answer."""

    start: int
    end: int
    text: str
    status: Status
    """`supported`: a record says so. `receipted`: its ids, amounts and dates all belong to one call that was done.
    `contradicted`: a record, or a call that was not done, speaks against it. `words`: only its words stand in the
    records, whatever they mean there. `empty`: it claims nothing that could be looked up."""
    why: str = ""
    """Why it is unsupported."""
    grounds: tuple[Ground, ...] = ()
    numbers: tuple[NumberLink, ...] = ()
    receipt: Receipt | None = None
    """What the calls that acted say about it, where it names an id, an amount or a date."""
    by: str = ""
    """Who said so, where no rule did: a model, or what else was installed to judge."""


def claims_of(answer: str, logs: Mapping[str, Sequence[Record]]) -> tuple[Claim, ...]:
    """Every sentence of an answer; `logs` are the records of its run and of those inside it, by run."""
    index, deeds = _Index(passages_of(logs)), Deeds(logs)
    lines = [(at, at + len(line)) for line in deeds.lines if (at := answer.find(line)) >= 0]
    claims = (
        _claim(sentence, "empty")  # a line of the ledger is the engine's own
        if any(start <= sentence.start < end for start, end in lines)
        else index.claim(sentence)
        for sentence in sentences(answer[:MAX_ANSWER])[:MAX_SENTENCES]
    )
    verdicts = _verdicts(logs)
    return tuple(_judged(_receipted(claim, deeds), deeds, verdicts) for claim in claims)


def is_open(claim: Claim) -> bool:
    """Return whether no rule decides about a sentence."""
    return claim.status in ("words", "unsupported") and (claim.receipt is None or claim.receipt.outcome == "unclear")


def _verdicts(logs: Mapping[str, Sequence[Record]]) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """What a judge has said of sentences, and who it was."""
    found: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for record in (record for records in logs.values() for record in records):
        event = record.event
        if isinstance(event, Noted) and event.component == JUDGE:
            said: Any = event.data.get("verdicts")
            if isinstance(said, Mapping):
                by = str(event.data.get("by"))
                found |= {text: (by, one) for text, one in cast("Mapping[str, Mapping[str, Any]]", said).items()}
    return found


def _judged(claim: Claim, deeds: Deeds, verdicts: Mapping[str, tuple[str, Mapping[str, Any]]]) -> Claim:
    """The claim as a judge decides it where no rule does. A call that is named must have been done, with the values of
    the sentence; a passage must have its words."""
    if claim.text not in verdicts or not is_open(claim):
        return claim
    by, said = verdicts[claim.text]
    call, passage = said.get("call"), said.get("passage")
    if isinstance(call, str) and deeds.confirms(claim.text, call):
        receipt = Receipt("receipted", (call,), f"so says {by}")
        return msgspec.structs.replace(claim, status="receipted", why=f"so says {by}", receipt=receipt, by=by)
    if claim.status == "words" and passage in ("says so", "says otherwise"):
        status: Status = "supported" if passage == "says so" else "contradicted"
        return msgspec.structs.replace(claim, status=status, why=f"so says {by}", by=by)
    if call == "none":
        why = f"no call did it, says {by}"
        return msgspec.structs.replace(
            claim, status="contradicted", why=why, receipt=Receipt("contradicted", (), why), by=by
        )
    return claim


def _receipted(claim: Claim, deeds: Deeds) -> Claim:
    """The claim with its receipt. What a record says is not contradicted by what was done."""
    receipt = deeds.receipt(claim.text) if claim.status != "empty" else None
    if receipt is None:
        return claim
    status, why = claim.status, claim.why
    if receipt.outcome == "receipted" and status != "supported":
        status, why = "receipted", ""
    elif receipt.outcome == "contradicted" and status == "unsupported":
        status, why = "contradicted", receipt.why
    return msgspec.structs.replace(claim, status=status, why=why, receipt=receipt)


def support_of(sentence: str, texts: Sequence[tuple[str, str]]) -> str:
    """Why a sentence does not rest on these texts alone, each with its title; empty if they have its words and do not
    contradict it. A number must stand there: what is worked out from others is not what a source says."""
    return next((claim.why for claim in _claims(sentence, texts) if claim.why), "")


def is_supported(sentence: str, texts: Sequence[tuple[str, str]]) -> bool:
    """Return whether these texts say so, not only with the same words."""
    return all(claim.status in ("supported", "empty") for claim in _claims(sentence, texts))


def _claims(sentence: str, texts: Sequence[tuple[str, str]]) -> list[Claim]:
    passages = [
        Passage("", number, piece.text, _titled(title, piece.text), title=title)
        for number, (title, text) in enumerate(texts)
        for piece in sentences(text)[:MAX_SENTENCES]
    ]
    if not passages:
        return [Claim(0, len(sentence), sentence, "unsupported", "there is nothing to rest on")]
    index = _Index(passages, derives=False)
    for title, _ in texts:
        if words_of(title).negated:  # "Never Say So is a song" denies nothing either
            plain = without_denial(title)
            sentence = re.sub(re.escape(title), lambda _, plain=plain: plain, sentence, flags=re.IGNORECASE)
    return [index.claim(Sentence(one.start, one.end, one.text)) for one in sentences(sentence)]


def _titled(title: str, text: str) -> Words:
    """A passage says what it says of what its title names; a title denies nothing."""
    return msgspec.structs.replace(words_of(f"x {title} {text}"), negated=words_of(text).negated)


class _Index:
    def __init__(self, passages: Sequence[Passage], *, derives: bool = True) -> None:
        self.passages = passages
        self._derives = derives
        self._by_word: dict[str, list[int]] = {}
        self._by_number: dict[Decimal, list[int]] = {}
        self._by_citation: dict[str, set[int]] = {}
        self._names: set[str] = set()
        self._votes = _MAX_VOTES
        self._values_of: dict[int, frozenset[Decimal]] = {}
        for position, passage in enumerate(passages):
            if passage.cited_as:
                self._by_citation.setdefault(passage.cited_as, set()).add(position)
            for word in passage.words.content:
                self._by_word.setdefault(word, []).append(position)
            for _, value in passage.words.numbers:
                self._by_number.setdefault(value, []).append(position)
            self._names.update(name.casefold() for name in passage.words.names)

    def claim(self, sentence: Sentence) -> Claim:
        words = words_of(sentence.text)
        if sentence.text.rstrip("\"')*_ ").endswith("?") or not (words.content or words.numbers):
            return _claim(sentence, "empty")
        if self._votes <= 0:
            return _claim(sentence, "unsupported", NOT_LOOKED_UP)
        if sentence.cited:
            among = {position for name in sentence.cited for position in self._by_citation.get(name, ())}
            if not among:
                return _claim(sentence, "unsupported", "it cites a passage that no record has")
            claim = self._judged(sentence, words, among)
            if claim.why:
                return _claim(sentence, claim.status, f"by the passage it cites: {claim.why}", claim)
            return claim
        return self._judged(sentence, words, None)

    def _judged(self, sentence: Sentence, words: Words, among: set[int] | None) -> Claim:
        grounds, covered = self._grounds(words, among)
        numbers = tuple(self._link(text, value, words, grounds) for text, value in words.numbers)
        quotes = tuple(Ground(p.run, p.seq, p.text) for p in (self.passages[i] for i in grounds))
        claim = Claim(sentence.start, sentence.end, sentence.text, "words", "", quotes, numbers)
        loose = [n.text for n in numbers if n.seq < 0 and not n.worked_out and n.text[0].isdigit()]
        unknown = [name for name in words.names if not self._knows(name)]
        missing = sorted(words.content - covered)
        verdicts = [compare(sentence.text, self.passages[i].text, self.passages[i].title) for i in grounds]
        if "supported" in verdicts:
            return msgspec.structs.replace(claim, status="supported")
        if "contradicted" in verdicts[:1] and not any(number.worked_out for number in numbers):
            quote = self.passages[grounds[0]].text
            return _claim(sentence, "contradicted", f"a record says otherwise: {quote[:200]}", claim)
        if loose:
            return _claim(sentence, "unsupported", f"{loose[0]} is in no record that speaks of this", claim)
        if unknown:
            return _claim(sentence, "unsupported", f"{unknown[0]} is in no record", claim)
        if words.content and len(missing) > (1 - ENOUGH) * len(words.content):
            return _claim(sentence, "unsupported", f"no record has the words: {', '.join(missing[:5])}", claim)
        if not words.negated and any(self.passages[i].words.negated for i in grounds):
            return _claim(sentence, "unsupported", "it does not say no where its grounds do", claim)
        return claim

    def _grounds(self, words: Words, among: set[int] | None) -> tuple[list[int], frozenset[str]]:
        """A few passages that together have most of the words."""
        votes: dict[int, float] = {}  # below zero: the most votes come first
        for word in words.content:
            places = self._places(self._by_word.get(word, ()), among)
            vote = 1 / (1 + len(places)) + 1
            for position in places:
                votes[position] = votes.get(position, 0.0) - vote
        for _, value in words.numbers:
            for position in self._places(self._by_number.get(value, ()), among):
                votes[position] = votes.get(position, 0.0) - 2
        best = [position for _, position in heapq.nsmallest(200, zip(votes.values(), votes, strict=True))]
        chosen: list[int] = []
        covered: frozenset[str] = frozenset()
        wanted = {value for _, value in words.numbers}
        for _ in range(_MAX_GROUNDS):
            gains = [(self._gain(position, words, covered, wanted), -rank) for rank, position in enumerate(best)]
            gain, rank = max(gains, default=((0, 0), 0))
            if not gain[0]:
                break
            chosen.append(best[-rank])
            found = self.passages[best[-rank]].words
            covered |= found.content & words.content
            wanted -= self._values(best[-rank])
        if wanted and chosen:  # it may be worked out from what stands beside its other words
            for position in best:
                own = frozenset[str]().union(*(self.passages[i].words.content for i in chosen))
                passage = self.passages[position].words
                beside = (passage.content - own) & words.content
                alike = passage.numbers and len(passage.content & words.content) >= _ALIKE and position not in chosen
                if len(chosen) < _MAX_GROUNDS and (beside or alike):
                    chosen.append(position)
        return chosen, covered

    def _places(self, found: Sequence[int], among: set[int] | None) -> Sequence[int]:
        """The passages that a word or a number speaks for; of very many the first."""
        self._votes -= 1 + (min(len(found), _MAX_PLACES) if among is None else len(found))
        return (found if among is None else [position for position in found if position in among])[:_MAX_PLACES]

    def _gain(self, position: int, words: Words, covered: frozenset[str], wanted: set[Decimal]) -> tuple[int, int]:
        found = self.passages[position].words
        new = len((found.content & words.content) - covered)
        numbers = len(wanted & self._values(position))
        return numbers + new, len(found.content & words.content)

    def _values(self, position: int) -> frozenset[Decimal]:
        if position not in self._values_of:
            self._values_of[position] = frozenset(value for _, value in self.passages[position].words.numbers)
        return self._values_of[position]

    def _link(self, text: str, value: Decimal, words: Words, grounds: Sequence[int]) -> NumberLink:
        """The record a number came from: in a passage that shares a word with the sentence, or has no other words."""
        everywhere = self._by_number.get(value, ())[:_MAX_PLACES]
        self._votes -= len(everywhere)
        near = [position for position in grounds if value in self._values(position)]
        for position in (*near, *everywhere):
            passage = self.passages[position]
            if not passage.words.content or passage.words.content & words.content:
                return NumberLink(text, passage.run, passage.seq)
        operands = list(dict.fromkeys(v for i in sorted(grounds) for _, v in self.passages[i].words.numbers))
        if (
            self._derives
            and 2 <= len(operands) <= _MAX_OPERANDS
            and (steps := derived_from(value, operands)) is not None
        ):
            one, sign, other = steps
            return NumberLink(text, worked_out=f"{one} {sign} {other}")
        return NumberLink(text)

    def _knows(self, name: str) -> bool:
        low = name.casefold()
        if low in self._names:
            return True
        parts = words_of(f"x {low}").content
        return bool(parts) and all(part in self._by_word for part in parts)


def _claim(sentence: Sentence, status: Status, why: str = "", found: Claim | None = None) -> Claim:
    grounds = found.grounds if found is not None else ()
    numbers = found.numbers if found is not None else ()
    return Claim(sentence.start, sentence.end, sentence.text, status, why, grounds, numbers)
