"""Words, numbers and sentences of a text, as far as they can be compared without knowing what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from functools import lru_cache

from msgspec import Struct

from treadle._engine.receipts.admission import DENYING
from treadle._types.dates import MONTH, replace_dates

MAX_SENTENCE = 2_000
"""Characters; what goes on longer without an end is cut where a word ends."""

_TOKEN = re.compile(r"\w+(?:[-.,:/'’]\w+)*")  # noqa: RUF001 - the typographic apostrophe is meant
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_END = re.compile(r"(?<=[.!?])[\"')\]*_]*(?:\s*\[ID:[^\]\n]{0,80}\])*(?=\s)|(?<=[。！？])|\n")  # noqa: RUF001
_SHORT = re.compile(
    r"(?:^|[\s(.])(?:[A-Z]|Mr|Mrs|Ms|Dr|St|Prof|No|vs|e\.g|i\.e|etc|cf|Jr|Sr|approx)\.$|\n[\s>#*-]{0,12}\d{1,3}\.$"
)
_OF_A_MONTH = re.compile(rf"\s(?:{MONTH})\b", re.IGNORECASE)
_CITATION = re.compile(r"\[ID:([^\[\]\n]{0,80})\]", re.IGNORECASE)
_LEADING = re.compile(r"[\s>#*•|-]*(?:\d{1,3}[.)]\s+)?[\s#*•|-]*")
_SUFFIX = re.compile(r"(?:ing|edly|ed|ies|es|s|ly|er|ion|al)$")
_COMMON = """
a an and are as at be been being but by can could did do does for from had has have he her here his how i if in
into is it its just me might more most my of on one only or our out over own s same shall she should so some
such than that the their them then there these they this those to too under up us very was we were what when where
which while who whom why will with would you your also about after before between both each other per via according
therefore however thus answer total result found based together
"""
_STOPWORDS = frozenset(_COMMON.split())
_NEGATIONS = frozenset(DENYING.split())
_COUNTING = (
    "zero one two three four five six seven eight nine ten eleven twelve "
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
)
_BY_TEN = "twenty thirty forty fifty sixty seventy eighty ninety"
UNITS = {word: value for value, word in enumerate(_COUNTING.split())}
_TENS = {word: 10 * value for value, word in enumerate(_BY_TEN.split(), 2)}
_SCALES = {
    **dict.fromkeys(("hundred",), 100),
    **dict.fromkeys(("thousand", "k"), 1_000),
    **dict.fromkeys(("million", "millions", "mn"), 1_000_000),
    **dict.fromkeys(("billion", "billions", "bn"), 1_000_000_000),
}
_SIGNS = {"€": "euros", "$": "dollars", "£": "pounds", "¥": "yen"}
_MONEY = re.compile(rf"([{''.join(_SIGNS)}])\s?(\d[\d,.]*\d|\d)((?:\s?(?:{'|'.join(_SCALES)})\b)?)", re.IGNORECASE)
_ONES, _TEENS = "|".join(list(UNITS)[1:10]), "|".join(list(UNITS)[13:])
_SPELLED = re.compile(rf"\b(?:({'|'.join(_TENS)})(?:[- ]({_ONES}))?|({_TEENS}))\b", re.IGNORECASE)
_WHOLE = r"\d[\d,]{0,40}"
"""Bounded, as it is read anew from every comma in it."""
_SCALED = re.compile(rf"\b({_WHOLE}(?:\.\d+)?|{'|'.join(list(UNITS)[1:])})[ -]?({'|'.join(_SCALES)})\b", re.IGNORECASE)
_PERCENT = re.compile(r"(?<=\d)\s?(?:%|per cent\b)")
_WORTH_IT = re.compile(rf"\d|{'|'.join((*_TENS, *list(UNITS)[13:], 'hundred', 'thousand', 'illion'))}", re.IGNORECASE)
_NUMBER_WORDS = {word: Decimal(value) for word, value in UNITS.items() if value <= 12}


class Sentence(Struct, frozen=True):
    start: int
    end: int
    text: str
    cited: tuple[str, ...] = ()
    """The ids of passages it cites, `[ID:i]`."""


class Words(Struct, frozen=True):
    """What of a text is compared."""

    content: frozenset[str]
    """Words that mean something, without their endings."""
    names: tuple[str, ...]
    """Words with a capital letter that does not begin the sentence, and words with digits in them."""
    numbers: tuple[tuple[str, Decimal], ...]
    """As written and as a value; numbers in words only up to twelve."""
    negated: bool


def sentences(text: str) -> list[Sentence]:
    """The sentences and list items of a text, with their places in it."""
    found: list[Sentence] = []
    start = 0
    # Only the few characters before an end can say that it is the end of an abbreviation.
    ends = [
        match.end()
        for match in _END.finditer(text)
        if not _SHORT.search(text[max(0, match.start() - 12) : match.start()])
        and not (text[match.start() - 2 : match.start() - 1].isdigit() and _OF_A_MONTH.match(text, match.end()))
    ]
    for end in (*ends, len(text)):
        piece = text[start:end]
        lead = _LEADING.match(piece)
        begin = start + (lead.end() if lead else 0)
        found += _pieces(text, begin, end)
        start = end
    return found


def _pieces(text: str, begin: int, end: int) -> Iterator[Sentence]:
    """One sentence, or several where it is longer than any that a person writes."""
    while begin < end:
        until = end if end - begin <= MAX_SENTENCE else _last_blank(text, begin, begin + MAX_SENTENCE)
        shown = text[begin:until].rstrip()
        if shown.strip(" *_`|-") and not shown.startswith(("```", "~~~")):  # a fence claims nothing
            ids = tuple(part for match in _CITATION.finditer(shown) for part in re.split(r"[,;\s]+", match[1]) if part)
            yield Sentence(begin, begin + len(shown), shown, ids)
        begin = until


def _last_blank(text: str, begin: int, end: int) -> int:
    at = text.rfind(" ", begin + 1, end)
    return at if at > 0 else end


def words_of(text: str) -> Words:
    content: set[str] = set()
    names: list[str] = []
    numbers: list[tuple[str, Decimal]] = []
    negated = False
    for index, token in enumerate(_TOKEN.findall(canonical(_CITATION.sub(" ", text)))):
        read = _remembered(token) if len(token) <= _MAX_REMEMBERED else _read(token)
        content.update(read.content)
        if read.number is not None:
            numbers.append(read.number)
        if read.name and (index or read.shouted):
            names.append(token)
        negated = negated or read.negates
    return Words(frozenset(content), tuple(dict.fromkeys(names)), tuple(numbers), negated)


class _Token(Struct, frozen=True):
    """What one word adds to those of its text."""

    content: tuple[str, ...] = ()
    number: tuple[str, Decimal] | None = None
    name: bool = False
    shouted: bool = False
    """It is a name where it begins a sentence, too."""
    negates: bool = False


def _read(token: str) -> _Token:
    low = token.casefold()
    plain = re.sub(r"(?<=\d)[^\W\d_]{1,3}$", "", token)
    if not token.isascii() and _WIDE.search(token):
        return _Token(tuple(token[i : i + 2] for i in range(max(1, len(token) - 1))))
    if _NUMBER.fullmatch(plain) and len(plain) <= 20:
        return _Token(number=(plain, Decimal(plain.replace(",", ""))))
    if any(char.isdigit() for char in token):
        return _Token(name=True, shouted=True)
    if is_negation(low):
        return _Token(negates=True)
    name = token[0].isupper() and low not in _STOPWORDS and len(token) > 1
    if low in _NUMBER_WORDS and low != "one":
        return _Token(number=(token, _NUMBER_WORDS[low]), name=name, shouted=token.isupper())
    means = low not in _STOPWORDS and len(low) > 1
    content = tuple(stem(part) for part in re.split(r"[-/]", low) if len(part) > 1) if means else ()
    return _Token(content, name=name, shouted=token.isupper())


def is_negation(low: str) -> bool:
    """Return whether a word, in small letters, denies something."""
    return low in _NEGATIONS or low.endswith(("n't", "n’t"))  # noqa: RUF001


_MAX_REMEMBERED = 40
_remembered = lru_cache(maxsize=20_000)(_read)
"""The same words come again and again: reading one costs a hundred times what finding it does."""


def without_denial(text: str) -> str:
    """The words of a text that deny nothing."""
    return " ".join(word for word in text.split() if not words_of(word).negated)


def stem(word: str) -> str:
    """The word without an ending of English, if it has one; a word of few letters is left alone."""
    word = re.sub(r"['’]s$", "", word)  # noqa: RUF001
    shorter = _SUFFIX.sub("", word) if len(word) > 3 else word
    return (shorter if len(shorter) >= 3 else word).rstrip("e") or word


def derived_from(number: Decimal, sourced: list[Decimal]) -> tuple[Decimal, str, Decimal] | None:
    """One operation on two of these numbers that gives the number, as exactly as it is written."""
    tolerance = Decimal(1).scaleb(min(0, int(number.as_tuple().exponent))) / 2
    for one, sign, other, result in _results(sourced):
        if abs(number - result) <= (tolerance if sign in "/%" else 0):
            return one, sign, other
    return None


def _results(sourced: list[Decimal]) -> Iterator[tuple[Decimal, str, Decimal, Decimal]]:
    for i, one in enumerate(sourced):
        for j, other in enumerate(sourced):
            if i < j:
                yield one, "+", other, one + other
                yield one, "*", other, one * other
            if i != j:
                yield one, "-", other, one - other
                if other:
                    yield one, "/", other, one / other
                    yield one, "%", other, 100 * one / other


def canonical(text: str) -> str:
    """The text with its numbers, amounts of money and dates written in one way: `48.9 million` is `48900000`."""
    if _WORTH_IT.search(text) is None:
        return text
    text = replace_dates(text, lambda year, month, day: date(year, month, day).isoformat() if year else None)
    text = _MONEY.sub(lambda match: f"{match[2]}{match[3]} {_SIGNS[match[1]]}", text)
    text = _SPELLED.sub(_spelled, text)
    text = _SCALED.sub(_scaled, text)
    return _PERCENT.sub(" percent", text)


def _spelled(match: re.Match[str]) -> str:
    tens, units, teens = match[1], match[2], match[3]
    if teens:
        return str(UNITS[teens.casefold()])
    return str(_TENS[tens.casefold()] + (UNITS[units.casefold()] if units else 0))


def _scaled(match: re.Match[str]) -> str:
    low = match[1].casefold()
    value = Decimal(UNITS[low]) if low in UNITS else Decimal(low.replace(",", ""))
    product = value * _SCALES[match[2].casefold()]
    return f"{product.normalize():f}"
