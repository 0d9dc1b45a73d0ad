"""Compare a sentence with a passage, without a model: supported, contradicted, or only words match.

Supported is a sentence whose every word stands in one passage, in the same order and close together, with the same
numbers and units, dates, quantifiers and negation, where the passage states it without a condition. Contradicted is one
that has the words of a passage and says the opposite of what can be compared. Everything else stays open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Literal

from msgspec import Struct

from treadle._engine.receipts.admission import HEDGING
from treadle._plugins.evidence.words import canonical, is_negation, stem, words_of

Verdict = Literal["supported", "contradicted", "words"]
_TOKEN = re.compile(
    r"\d{4}-\d{2}-\d{2}|\d+(?:,\d{3})+(?:\.\d+)?|\d+\.\d+|[^\W\d]+(?:[-/'’][^\W\d]+)*|\w+"  # noqa: RUF001
)
_CLAUSE = re.compile(
    r"[,;:()]|\b(?:and|or|but|despite|although|though|while|whereas|because|which|who|und|oder|aber|obwohl|weil|y|o|pero"
    r"|aunque|porque)\b",
    re.IGNORECASE,
)
_CITATION = re.compile(r"\[ID:[^\[\]\n]{0,80}\]", re.IGNORECASE)
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\s]*\)")
_MARKERS = {
    "hedge": HEDGING,
    "all": "all every each alle allen jeder jede jedes sämtliche todo toda todos todas cada",
    "some": "most many some few several half einige manche wenige mehrere viele meisten algunos algunas pocos pocas "
    "muchos muchas varios varias mayoría",
    "quantifier": "only both any nearly almost nur beide fast kaum ambos ambas casi",
    "rise": "rise rose risen rising grow grew grown growing increase increased increases gain gained climb climbed",
    "fall": "fall fell fallen falling drop dropped decline declined decrease decreased decreases shrink shrank",
    "compare": "more less fewer over under above below least than before after until since between",
}
"""Words that say how something is meant. A passage with a hedge says less than that it is so."""
_KIND = {word: kind for kind, listed in _MARKERS.items() for word in listed.split()}
_ALL, _SOME = frozenset(_MARKERS["all"].split()), frozenset(_MARKERS["some"].split())
_NEAR = 2
"""Content words of a passage that may be left out between two of a sentence, beside an eighth of it."""
_ENOUGH = 0.75
_DENIED = 0.4
"""The share of a sentence's words that a denial must be about to contradict it."""


class _Read(Struct, frozen=True):
    order: tuple[str, ...]
    """Content words, numbers and dates, in order."""
    content: frozenset[str]
    """The words among them."""
    quantities: tuple[tuple[Decimal, str], ...]
    dates: frozenset[str]
    negated: bool
    denied: frozenset[str]
    """The words of clauses with a negation."""
    hedges: frozenset[str]
    quantifiers: frozenset[str]
    compared: frozenset[str]
    direction: int
    names: tuple[str, ...]
    passive: bool
    symmetric: bool
    """It may say the same of two in either order: "Anna and Berta", or by a passive."""


def compare(sentence: str, passage: str, title: str = "") -> Verdict:
    """Compare a sentence with one passage; `title` names what the passage is about."""
    if _bare(sentence) == _bare(passage):
        return "supported"
    claim, source = _read(sentence), _read(passage)
    about = frozenset(_read(title).order) if title else frozenset[str]()
    words = claim.content - about
    named = words - {unit for _, unit in claim.quantities}
    shared = len(named & source.content) / len(named) if named else 1.0
    if shared >= _ENOUGH and _opposes(claim, source, words):
        return "contradicted"
    return "supported" if words <= source.content and _agrees(claim, source, about) else "words"


def _opposes(claim: _Read, source: _Read, words: frozenset[str]) -> bool:
    """Return whether two that speak of the same differ in what can be compared."""
    if words <= source.content and claim.negated != source.negated and not claim.hedges ^ source.hedges:
        denied = (claim.denied if claim.negated else source.denied) & words & source.content
        if len(denied) >= _DENIED * len(words):
            return True
    if claim.direction * source.direction < 0:
        return True
    if _wrong_way(claim):
        return True
    if claim.quantifiers & _ALL and source.quantifiers & _SOME:
        return True
    if words <= source.content and _swapped(claim, source):
        return True
    return _other_quantity(claim, source, words) or (
        len(claim.dates) == 1 and len(source.dates) == 1 and claim.dates != source.dates and words <= source.content
    )


def _other_quantity(claim: _Read, source: _Read, words: frozenset[str]) -> bool:
    """Return whether a number has another unit, or a unit another number, where there is no other to be meant."""
    for value, unit in claim.quantities:
        values = {number for number, other in source.quantities if other == unit}
        units = {other for number, other in source.quantities if number == value}
        if unit and all(units) and units and unit not in units and words - {unit} <= source.content - units:
            return True
        if unit and len(values) == 1 and value not in values and not units and len(claim.quantities) == 1:
            return True
    return False


def _wrong_way(claim: _Read) -> bool:
    """Return whether a sentence denies itself: "fell from 41 to 48"."""
    values = [value for value, _ in claim.quantities]
    return bool(claim.direction) and claim.order.count("from:to") == 1 and len(values) >= 2 and (
        (values[1] - values[0]) * claim.direction < 0
    )  # fmt: skip


def _swapped(claim: _Read, source: _Read) -> bool:
    """Return whether two names have changed places around the same words."""
    mine = [name for name in claim.names if name in source.names]
    theirs = [name for name in source.names if name in claim.names]
    return len(mine) >= 2 and mine != theirs and mine == _turned(theirs) and not (claim.symmetric or source.symmetric)


def _turned(names: Sequence[str]) -> list[str]:
    """The names with their two halves exchanged: "Karin Dahl ... Per Moen" is "Per Moen ... Karin Dahl"."""
    half = len(names) // 2
    return [*names[half:], *names[:half]] if len(names) % 2 == 0 else []


def _agrees(claim: _Read, source: _Read, about: frozenset[str]) -> bool:
    """Return whether everything that can be compared is the same, in the same order and close together."""
    if not claim.denied & claim.content <= source.denied or (claim.content - claim.denied) & source.denied:
        return False
    if claim.hedges != source.hedges or claim.passive != source.passive:
        return False
    if not claim.quantifiers <= source.quantifiers or (claim.quantifiers != source.quantifiers and claim.quantities):
        return False
    if claim.direction != source.direction or claim.compared != (source.compared & claim.compared):
        return False
    if not set(claim.quantities) <= set(source.quantities) or not claim.dates <= source.dates:
        return False
    wanted = [word for word in claim.order if word not in about or word in source.content]
    return _close(wanted, source.order)


def _close(wanted: Sequence[str], source: Sequence[str]) -> bool:
    """Return whether the words stand in the passage in their order, with few others between them, and before a
    word no number."""
    if not wanted:
        return True
    room = _NEAR + len(wanted) // 8
    for start in (place for place, word in enumerate(source) if word == wanted[0]):
        at, skipped = start, 0
        for word in wanted[1:]:
            try:
                place = source.index(word, at + 1)
            except ValueError:
                break
            if not word[0].isdigit() and any(other[0].isdigit() for other in source[at + 1 : place]):
                break  # the words after a number may be said of it: "of 80 guests, 30 came by train"
            skipped += place - at - 1
            at = place
        else:
            if skipped <= room:
                return True
    return False


def _denied(text: str) -> frozenset[str]:
    read = [words_of(f"x {clause}") for clause in _CLAUSE.split(text)]
    return frozenset(word for words in read if words.negated for word in words.content)


def _shown(text: str) -> str:
    """The text as a reader sees it: without citations and the addresses of links."""
    return _CITATION.sub(" ", _LINK.sub(r"\1", text))


def _bare(text: str) -> str:
    return " ".join(word.casefold() for word in _TOKEN.findall(_shown(text)))


def _read(text: str) -> _Read:
    order: list[str] = []
    quantities: list[tuple[Decimal, str]] = []
    dates: set[str] = set()
    markers: dict[str, set[str]] = {kind: set() for kind in _MARKERS}
    names: list[str] = []
    negated = False
    plain = canonical(_shown(text))
    found = list(_TOKEN.finditer(plain))
    tokens = [match[0] for match in found]
    for place, token in enumerate(tokens):
        low = token.casefold()
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", token):
            dates.add(token)
            order.append(token)
        elif re.fullmatch(r"[\d,]+(?:\.\d+)?", token) and len(token) <= 20:
            value = Decimal(token.replace(",", "")).normalize()
            beside = place + 1 < len(tokens) and not plain[found[place].end() : found[place + 1].start()].strip(" -")
            following = tokens[place + 1].casefold() if beside else ""
            unit = stem(following) if following.isalpha() and words_of(following).content else ""
            quantities.append((value, unit))
            order.append(str(value))
        elif is_negation(low):
            quantified = place + 1 < len(tokens) and tokens[place + 1].casefold() in ("all", "every", "only")
            negated = negated if quantified else not negated
        elif (kind := _KIND.get(low)) is not None:
            markers[kind].add(f"not {low}" if place and is_negation(tokens[place - 1].casefold()) else low)
        else:
            read = words_of(f"x {token}")
            order.extend(stem(part) for part in re.split(r"[-/]", low) if stem(part) in read.content)
            if read.numbers:
                order.append(str(read.numbers[0][1].normalize()))
                quantities.append((read.numbers[0][1].normalize(), ""))
            if (read.names and place) or (token[0].isupper() and place == 0 and read.content):
                names.append(low)
    if re.search(r"\bfrom\b.*\d.*\bto\b.*\d", text):
        order.append("from:to")
    passive = bool(re.search(r"\b(?:is|was|were|are|been|be)\b[^.]*\bby\b", text))
    return _Read(
        tuple(order),
        frozenset(word for word in order if word != "from:to" and not word[0].isdigit()),
        tuple(quantities),
        frozenset(dates),
        negated,
        _denied(text) if negated else frozenset(),
        frozenset(markers["hedge"]),
        frozenset(markers["quantifier"] | markers["all"] | markers["some"]),
        frozenset(markers["compare"]),
        bool(markers["rise"]) - bool(markers["fall"]),
        tuple(names),
        passive,
        passive or bool(re.search(r"\b(?:and|or|with|between)\b", text)),
    )
