"""Numbers and ids in texts: which of them are in no source, and follow from nothing that is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import combinations, product

_TOKEN = re.compile(r"\w+(?:[-.,:/]\w+)*")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_ID = re.compile(r"(?=[\w-]*\d)[^\W\d][\w-]+")
_DIGITS = re.compile(r"\d+")
_PLAIN = re.compile(r"\d+(?:\.\d+)?")
_APART = re.compile(r"(?<=\d)[-_ ./](?=\d)")
_TOLD_IN_WORDS = re.compile(
    r"\d{1,3}(?:000)*(?:\.\d\d?)?"  # small or round enough to be told in words or in another unit
    r"|(?:1[5-9]|2[01])\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])?"  # a day or a month without blanks
    r"|(?:1?\d|2[0-3])(?:00|15|30|45)"  # a time of day
)
_LONGEST = 20
_YEAR = 4
"""Digits of one; the last two are enough."""
_ALWAYS_FINE = 12
"""Up to here numbers are written as words, counted, or used to number a list."""
_UNIT_FACTORS = frozenset(map(Decimal, (24, 30, 52, 60, 100, 180, 360, 365, 366, 1000, 3600, 10**6, 10**9)))
"""Hours of a day, days of a month and a year, per cent, degrees, grams of a kilogram, millions: they need no source."""
_MAX_NUMBERS = 60
"""With more numbers in the sources, nearly every one follows from two; of a long text only so many are checked."""


def ids(text: str) -> list[str]:
    """Words that begin with a letter and have a digit: `AB12`, `R-7`."""
    return [token for token in _TOKEN.findall(text) if _ID.fullmatch(token)]


def mentions(text: str, value: str) -> bool:
    """Whether a text has this word, in whatever case, with or without its hyphens: `AB12` is `ab-12`."""
    letters = [re.escape(letter) for letter in value if letter.isalnum()]
    return bool(letters) and re.search(rf"(?<!\w){'[-_ .]?'.join(letters)}(?!\w)", text, re.IGNORECASE) is not None


def said_otherwise(value: str, sources: Iterable[str]) -> bool:
    """Whether one number, id or day may be what a source says in another form: in words, its digits without letters and
    zeros before them (`AB-0407` is 407), apart (`12 34-5` is 12345), or in another order (`2026-04-15`)."""
    if " " in value:
        return False
    value = value.removeprefix("-").removesuffix(".0")
    if _TOLD_IN_WORDS.fullmatch(value):
        return True
    said = {_digits(run) for source in sources for run in _DIGITS.findall(f"{source} {_APART.sub('', source)}")}
    said |= {run[-2:] for run in said if len(run) == _YEAR}
    digits = _digits(value)
    if len(digits) > 1 and digits in said:
        return True
    parts = _DIGITS.findall(value)
    return len(parts) > 1 and all(int(part) <= _ALWAYS_FINE or _digits(part) in said for part in parts)


def _digits(text: str) -> str:
    return "".join(letter for letter in text if letter.isdigit()).lstrip("0")


def numbers(text: str) -> list[Decimal]:
    """Plain numbers; neither dates and times nor numbers that are part of a word."""
    tokens = (re.sub(r"(?<=\d)[^\W\d_]+$", "", token) for token in _TOKEN.findall(text))
    return [Decimal(token.replace(",", "")) for token in tokens if _NUMBER.fullmatch(token) and len(token) <= _LONGEST]


def unsourced_number(text: str, sources: Iterable[str]) -> str:
    """The first number in a text that is in no source and does not follow from two that are; empty if there is none."""
    claimed = [number for number in numbers(text) if number > _ALWAYS_FINE and number not in _UNIT_FACTORS]
    if not claimed:
        return ""
    texts = list(sources)
    sourced = {number for text in texts for number in numbers(text)}
    # Of a date or a word as well: 2027 is in 2027-03-14.
    written = {Decimal(run) for text in texts for run in _PLAIN.findall(text) if len(run) <= _LONGEST}
    if len(sourced) > _MAX_NUMBERS:
        return ""
    doubtful = (number for number in claimed[:_MAX_NUMBERS] if number not in written)
    return next((str(number) for number in doubtful if not _follows(number, sourced)), "")


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
