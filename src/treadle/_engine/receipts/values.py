"""Values that a sentence and a call can share whatever the wording: ids, amounts, dates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle._types.dates import replace_dates

_TOKEN = re.compile(r"#?\w[\w@.,:/+-]*")
_NUMBER = re.compile(r"\d{1,3}(?:[.,\s]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?")
_MAX_DEPTH = 12
_SMALL = 100


class Values(Struct, frozen=True):
    """The values of a text, or of a call."""

    ids: frozenset[str] = frozenset()
    """Words with digits in them, addresses, and long words in capitals; casefolded."""
    numbers: frozenset[Decimal] = frozenset()
    """Every way in which a number can be read: `1.234` is one thousand or one."""
    dates: frozenset[tuple[int, int, int]] = frozenset()
    """Year (0: not said), month, day."""
    spoken: tuple[frozenset[Decimal], ...] = ()
    """The numbers as they stand in the text, each with its readings."""

    def __bool__(self) -> bool:
        return bool(self.ids or self.spoken or self.dates)

    def has_id(self, wanted: str) -> bool:
        """Return whether it has an id, or one that ends with it: "the card ending in 4421"."""
        return wanted in self.ids or (len(wanted) >= 4 and any(own.endswith(wanted) for own in self.ids))

    def has_number(self, readings: frozenset[Decimal]) -> bool:
        return not self.numbers.isdisjoint(readings)

    def has_date(self, wanted: tuple[int, int, int]) -> bool:
        year, month, day = wanted
        return any((m, d) == (month, day) and (not year or not y or y == year) for y, m, d in self.dates)


def small(readings: frozenset[Decimal]) -> bool:
    """Return whether a number may be a mere count: "both of your 2 items"."""
    return all(value < _SMALL and value == value.to_integral_value() for value in readings)


def values_of(text: str) -> Values:
    """The values in a text."""
    dates: set[tuple[int, int, int]] = set()

    def take(year: int, month: int, day: int) -> str:
        dates.add((year, month, day))
        return " "

    text = replace_dates(text, take)
    ids: set[str] = set()
    spoken: list[frozenset[Decimal]] = []
    for token in _TOKEN.findall(text):
        word = token.strip(".,:/+-")
        bare = word.lstrip("#")
        if _NUMBER.fullmatch(bare):
            readings = _readings(bare)
            spoken.append(readings)
            if len(bare) >= 4 and bare.isdigit() and not _is_year(bare):  # a number, or the name of something
                ids.add(bare)
        elif any(char.isdigit() for char in word) or "@" in word or (len(word) >= 5 and word.isupper()):
            ids.add(bare.casefold())
    numbers = frozenset[Decimal]().union(*spoken)
    return Values(frozenset(ids), numbers, frozenset(dates), tuple(spoken))


def _is_year(digits: str) -> bool:
    return len(digits) == 4 and digits[:2] in ("19", "20")


def _readings(text: str) -> frozenset[Decimal]:
    plain = text.replace(" ", "").replace("\u00a0", "")
    forms = {plain.replace(",", ""), plain.replace(".", "").replace(",", ".")}
    readings: set[Decimal] = set()
    for form in forms:
        try:
            readings.add(Decimal(form).normalize())
        except InvalidOperation:
            continue
    return frozenset(readings)


def values_in(value: Any) -> Values:
    """The values anywhere in arguments or a result: also in JSON that is passed as a text, and how long lists are."""
    ids: set[str] = set()
    numbers: set[Decimal] = set()
    dates: set[tuple[int, int, int]] = set()
    for leaf in _leaves(value, 0):
        if isinstance(leaf, str):
            inside = values_of(leaf)
            ids |= inside.ids | {leaf.strip("# ").casefold()}
            numbers |= inside.numbers
            dates |= inside.dates
        elif not isinstance(leaf, bool) and isinstance(leaf, int | float) and leaf == leaf and abs(leaf) < 1e18:
            number = Decimal(str(abs(leaf))).normalize()
            numbers.add(number)
            ids.add(str(abs(leaf)))
    return Values(frozenset(ids), frozenset(numbers), frozenset(dates))


def _leaves(value: Any, depth: int) -> Iterator[Any]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        for item in cast("Mapping[str, Any]", value).values():
            yield from _leaves(item, depth + 1)
    elif isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        yield len(items)
        for item in items:
            yield from _leaves(item, depth + 1)
    elif isinstance(value, str) and value[:1] in ("{", "["):
        try:
            yield from _leaves(msgspec.json.decode(value), depth + 1)
        except (msgspec.DecodeError, RecursionError):
            yield value
    else:
        yield value
