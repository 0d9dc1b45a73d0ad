"""Numbers and ids in texts: which of them are in no source, and follow from nothing that is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from decimal import Decimal
from itertools import combinations, product

_TOKEN = re.compile(r"\w+(?:[-.,:/]\w+)*")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_ID = re.compile(
    r"(?=\D*\d)[^\W\d][\w./-]+"  # AB12, R-7, T.2335, G/23/064
    r"|(?=.*[^\W\d])\d+[-/]\S+"  # 03/C
    r"|\d{3,}/\d{3,}"
    r"|(?=\w{6})\d+[^\W\d]+\d+\w*"  # 26NL002260
)
_PLAIN = re.compile(r"\d+(?:\.\d+)?")
_DIGITS = re.compile(r"\d+")
_DAY = re.compile(r"(?:[^\W\d]{2,9}-)?\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ]\S*)?")
_LONGEST = 20
_ALWAYS_FINE = 12
"""Up to here numbers are written as words, counted, or used to number a list."""
_CALCULATED = re.compile(r"[*+^%()]| [-/] ")
_IN_GROUPS = re.compile(
    r"(?<![\d.,])\d{1,3}(?:(?P<sign>[ .'\u2019\u00a0\u202f])\d{3})(?:(?P=sign)\d{3})*(?:,\d+)?(?![\d.])"
)
"""`1.250.000`, `1 250`, `1.250,50`: thousands apart as in other languages."""
_WITH_COMMA = re.compile(r"(?<![\d.,])\d+,\d{1,2}(?![\d,])")
"""`12,75`."""
UNIT_FACTORS = frozenset(map(Decimal, (24, 30, 52, 60, 100, 180, 360, 365, 366, 1000, 3600, 10**6, 10**9)))
"""Hours of a day, days of a month and a year, per cent, degrees, grams of a kilogram, millions."""
_MAX_NUMBERS = 60
"""With more numbers in the sources, nearly every one follows from two; of a long text only so many are checked."""


def ids(text: str) -> list[str]:
    """Return the words of letters and digits that are neither a day nor the name of a function that is called:
    `AB12`, `R-7`, `G/23/064`, `03/C`."""
    tokens = (match[0] for match in _TOKEN.finditer(text) if not text.startswith("(", match.end()))
    return [token for token in tokens if _ID.fullmatch(token) and not _DAY.fullmatch(token)]


def mentions(text: str, value: str) -> bool:
    """Return whether a text has this word, in whatever case, with or without its hyphens: `AB12` is `ab-12`."""
    letters = [re.escape(letter) for letter in value if letter.isalnum()]
    return bool(letters) and re.search(rf"(?<!\w){'[-_ ./]?'.join(letters)}(?!\w)", text, re.IGNORECASE) is not None


def told_in_words(number: float) -> bool:
    """Return whether an amount is small or round enough to be said in words, or in another unit."""
    return abs(number) < 1000 or number % 10 == 0


def numbers(text: str) -> list[Decimal]:
    """Plain numbers; neither dates and times nor numbers that are part of a word."""
    tokens = (re.sub(r"(?<=\d)[^\W\d_]+$", "", token) for token in _TOKEN.findall(text))
    return [Decimal(token.replace(",", "")) for token in tokens if _NUMBER.fullmatch(token) and len(token) <= _LONGEST]


def is_calculated(text: str) -> bool:
    return _CALCULATED.search(text) is not None


def uses_nothing_said(text: str, sources: Iterable[str]) -> bool:
    """Return whether none of the numbers that are calculated with are in a source. Words in brackets are no sum."""
    used = set(numbers(text))
    if not used or not is_calculated(text):
        return False
    texts = list(sources)
    said = {Decimal(run) for source in texts for run in _PLAIN.findall(source) if len(run) <= _LONGEST}
    said |= {number for source in texts for number in _otherwise_written(source)}
    return not said & used


def unsourced_operand(text: str, sources: Iterable[str], in_words: bool = False) -> str:
    """Return the first number of an argument that has no source. With `in_words` (the question has no digits) a sum may
    use the numbers that people say in words."""
    if not in_words or not is_calculated(text):
        return unsourced_number(text, sources)
    sayable = {number for number in numbers(text) if told_in_words(float(number))}
    return unsourced_number(text, sources, UNIT_FACTORS | sayable)


def unsourced_number(text: str, sources: Iterable[str], known: Set[Decimal] = UNIT_FACTORS) -> str:
    """Return the first number in a text that is in no source and does not follow from two; empty if none is.
    Those that are `known` need no source."""
    claimed = [number for number in numbers(text) if number > _ALWAYS_FINE and number not in known]
    if not claimed:
        return ""
    texts = list(sources)
    sourced = {number for text in texts for number in (*numbers(text), *_otherwise_written(text))}
    # Of a date or a word as well: 2027 is in 2027-03-14.
    written = {Decimal(run) for text in texts for run in _PLAIN.findall(text) if len(run) <= _LONGEST}
    if len(sourced) > _MAX_NUMBERS:
        return ""
    doubtful = (number for number in claimed[:_MAX_NUMBERS] if number not in written)
    return next((str(number) for number in doubtful if not _follows(number, sourced)), "")


def _otherwise_written(text: str) -> Iterator[Decimal]:
    """Numbers as other languages write them; a text may have such a one by chance, which does no harm."""
    for found in _IN_GROUPS.finditer(text):
        whole, _, part = found[0].partition(",")
        if len(found[0]) <= _LONGEST:
            yield Decimal(f"{''.join(_DIGITS.findall(whole))}.{part or 0}")
    for found in _WITH_COMMA.finditer(text):
        if len(found[0]) <= _LONGEST:
            yield Decimal(found[0].replace(",", "."))


def _follows(number: Decimal, sourced: set[Decimal]) -> bool:
    """Return whether it is one of the numbers, rounded perhaps or in another unit, or the result of one operation on
    two."""
    tolerance = Decimal(1).scaleb(min(0, int(number.as_tuple().exponent))) / 2
    return number in sourced or any(abs(number - result) <= tolerance for result in _results(sourced))


def _results(sourced: set[Decimal]) -> Iterator[Decimal]:
    yield from sourced
    for one, other in product(sourced, (*sourced, *UNIT_FACTORS)):
        yield one * other
        if other:
            yield one / other
    for one, other in combinations(sourced, 2):
        yield one + other
        yield abs(one - other)
