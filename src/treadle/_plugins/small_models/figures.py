"""Numbers and ids in texts: which of them were never said, and follow from nothing that was."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import combinations, product

_TOKEN = re.compile(r"\w+(?:[-.,:/]\w+)*")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_ID = re.compile(r"(?=[\w-]*\d)[^\W\d][\w-]+")
_SMALL = 12
"""Up to here numbers are written as words, counted, or used to number a list."""
_USUAL = frozenset(map(Decimal, (24, 30, 52, 60, 100, 180, 360, 365, 366, 1000, 3600)))
_MANY = 60
"""Numbers. With more of them said nearly everything follows from two; and of a long text only so many are looked at."""


def ids(text: str) -> list[str]:
    """Words that begin with a letter and have a digit: `E17`, `CL-15`."""
    return [token for token in _TOKEN.findall(text) if _ID.fullmatch(token)]


def names(text: str, value: str) -> bool:
    """Whether a text has this word, in whatever case, with or without its hyphens: K100 is K-100."""
    letters = [re.escape(letter) for letter in value if letter.isalnum()]
    return bool(letters) and re.search(rf"(?<!\w){'[-_ .]?'.join(letters)}(?!\w)", text, re.IGNORECASE) is not None


def numbers(text: str) -> list[Decimal]:
    """Plain numbers; neither dates and times nor numbers that are part of a word."""
    found = (re.sub(r"(?<=\d)[^\W\d_]+$", "", token) for token in _TOKEN.findall(text))
    return [Decimal(token.replace(",", "")) for token in found if _NUMBER.fullmatch(token) and len(token) <= 20]


def unfounded(text: str, said: Iterable[str], *, alone: bool = False) -> str:
    """The first number in a text that nobody has said and (unless `alone`) that two said ones do not give; empty when there is none."""
    claimed = [number for number in numbers(text) if number > _SMALL and number not in _USUAL][:_MANY]
    if not claimed:
        return ""
    known = {number for words in said for number in numbers(words)}
    if len(known) > _MANY:
        return ""
    return next(
        (str(number) for number in claimed if number not in known and (alone or not _follows(number, known))), ""
    )


def _follows(number: Decimal, known: set[Decimal]) -> bool:
    """Whether it is a known number, rounded perhaps or in another unit, or what one operation makes of two."""
    slack = Decimal(1).scaleb(min(0, int(number.as_tuple().exponent))) / 2
    return any(abs(number - made) <= slack for made in _made_of(known))


def _made_of(known: set[Decimal]) -> Iterator[Decimal]:
    yield from known
    for one, other in product(known, (*known, *_USUAL)):
        yield one * other
        if other:
            yield one / other
    for one, other in combinations(known, 2):
        yield one + other
        yield abs(one - other)
