"""Numbers and ids in texts: which of them are in no source, and follow from nothing that is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import combinations, product

_TOKEN = re.compile(r"\w+(?:[-.,:/]\w+)*")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_ID = re.compile(r"(?=[\w-]*\d)[^\W\d][\w-]+")
_ALWAYS_FINE = 12
"""Up to here numbers are written as words, counted, or used to number a list."""
_UNIT_FACTORS = frozenset(map(Decimal, (24, 30, 52, 60, 100, 180, 360, 365, 366, 1000, 3600)))
"""Hours of a day, days of a month and a year, per cent, degrees, grams of a kilogram: they need no source."""
_MAX_NUMBERS = 60
"""With more numbers in the sources, nearly every one follows from two; of a long text only so many are checked."""


def ids(text: str) -> list[str]:
    """Words that begin with a letter and have a digit: `AB12`, `R-7`."""
    return [token for token in _TOKEN.findall(text) if _ID.fullmatch(token)]


def mentions(text: str, value: str) -> bool:
    """Whether a text has this word, in whatever case, with or without its hyphens: `AB12` is `ab-12`."""
    letters = [re.escape(letter) for letter in value if letter.isalnum()]
    return bool(letters) and re.search(rf"(?<!\w){'[-_ .]?'.join(letters)}(?!\w)", text, re.IGNORECASE) is not None


def numbers(text: str) -> list[Decimal]:
    """Plain numbers; neither dates and times nor numbers that are part of a word."""
    tokens = (re.sub(r"(?<=\d)[^\W\d_]+$", "", token) for token in _TOKEN.findall(text))
    return [Decimal(token.replace(",", "")) for token in tokens if _NUMBER.fullmatch(token) and len(token) <= 20]


def unsourced_number(text: str, sources: Iterable[str]) -> str:
    """The first number in a text that is in no source and does not follow from two that are; empty if there is none."""
    claimed = [number for number in numbers(text) if number > _ALWAYS_FINE and number not in _UNIT_FACTORS]
    if not claimed:
        return ""
    sourced = {number for source in sources for number in numbers(source)}
    if len(sourced) > _MAX_NUMBERS:
        return ""
    return next((str(number) for number in claimed[:_MAX_NUMBERS] if not _follows(number, sourced)), "")


def _follows(number: Decimal, sourced: set[Decimal]) -> bool:
    """Whether it is one of the numbers, rounded perhaps or in another unit, or the result of one operation on two."""
    tolerance = Decimal(1).scaleb(min(0, int(number.as_tuple().exponent))) / 2
    return number in sourced or any(abs(number - result) <= tolerance for result in _results(sourced))


def _results(sourced: set[Decimal]) -> Iterator[Decimal]:
    yield from sourced
    for one, other in product(sourced, (*sourced, *_UNIT_FACTORS)):
        yield one * other
        if other:
            yield one / other
    for one, other in combinations(sourced, 2):
        yield one + other
        yield abs(one - other)
