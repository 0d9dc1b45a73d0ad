"""Values that a sentence and a call can share whatever the wording: ids, amounts, dates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle._types.dates import replace_dates

_TOKEN = re.compile(r"#?\w[\w@.,:/+-]*")
_NUMBER = re.compile(r"\d{1,3}(?:[.,\s]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?")
_FILE = re.compile(r"(?:[\w.-]+/)*[\w-]{2,}\.[a-z][a-z0-9]{0,4}")
_SLASHED = re.compile(r"\b(\d{1,2})/(\d{1,2})/(\d{4})\b")
_MAX_DEPTH = 12
_SMALL = 100


class Values(Struct, frozen=True):
    """The values of a text, or of a call."""

    ids: frozenset[str] = frozenset()
    """Words with digits in them, addresses, names of files, and long words in capitals; casefolded."""
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
        if is_file(wanted):
            return any(is_path(wanted, own) for own in self.ids)
        return wanted in self.ids or (len(wanted) >= 4 and any(own.endswith(wanted) for own in self.ids))

    def has_number(self, readings: frozenset[Decimal]) -> bool:
        return not self.numbers.isdisjoint(readings)

    def has_date(self, wanted: tuple[int, int, int]) -> bool:
        year, month, day = wanted
        return any((m, d) == (month, day) and (not year or not y or y == year) for y, m, d in self.dates)


def is_file(word: str) -> bool:
    """Return whether a word is the name of a file."""
    return _FILE.fullmatch(word) is not None


def is_path(named: str, path: str) -> bool:
    """Return whether a file that is named is this one: `app.py` is `src/app.py`."""
    return f"/{path}".endswith(f"/{named.removeprefix('./')}")


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
        elif _names_one(word):
            ids.add(bare.casefold())
    numbers = frozenset[Decimal]().union(*spoken)
    return Values(frozenset(ids), numbers, frozenset(dates), tuple(spoken))


def _names_one(word: str) -> bool:
    """Return whether a word is the name of one thing: it has a digit, is an address, a file, or in capitals."""
    shouted = len(word) >= 5 and word.isupper()
    return shouted or "@" in word or any(char.isdigit() for char in word) or is_file(word)


def _is_year(digits: str) -> bool:
    return len(digits) == 4 and digits[:2] in ("19", "20")


def _readings(text: str) -> frozenset[Decimal]:
    """The numbers that digits with points and commas may mean: `1.234` two, `1.50` one."""
    plain = text.replace(" ", "").replace("\u00a0", "")
    readings: set[Decimal] = set()
    for grouping, point in ((",", "."), (".", ",")):
        whole, *decimals = plain.split(point)
        groups = whole.split(grouping)
        if all(map(str.isdigit, decimals[:1])) and len(decimals) < 2 and all(len(one) == 3 for one in groups[1:]):
            readings.add(Decimal(".".join(("".join(groups), *decimals))).normalize())
    return frozenset(readings)


def values_in(value: Any) -> Values:
    """The values anywhere in arguments or a result: also in JSON that is passed as a text, and how long lists are."""
    ids: set[str] = set()
    numbers: set[Decimal] = set()
    dates: set[tuple[int, int, int]] = set()
    for _, leaf in _leaves(value, 0):
        if isinstance(leaf, str):
            inside = values_of(leaf)
            ids |= inside.ids | {leaf.strip("# ").casefold()}
            numbers |= inside.numbers
            dates |= inside.dates | _either_way(leaf)
        elif not isinstance(leaf, bool) and isinstance(leaf, int | float) and leaf == leaf and abs(leaf) < 1e18:
            number = Decimal(str(abs(leaf))).normalize()
            numbers.add(number)
            ids.add(str(abs(leaf)))
    return Values(frozenset(ids), frozenset(numbers), frozenset(dates))


def _either_way(text: str) -> set[tuple[int, int, int]]:
    """The dates of a call whose day and month can be told from neither: `11/7/2025` is both."""
    parts = [(int(one), int(two), int(year)) for one, two, year in _SLASHED.findall(text)]
    return {(year, *order) for one, two, year in parts for order in ((one, two), (two, one)) if one <= 12 >= two}


def texts_in(value: Any) -> dict[str, list[str]]:
    """The texts and whole numbers anywhere in arguments, by the name under which they stand."""
    texts: dict[str, list[str]] = {}
    for name, leaf in _leaves(value, 0):
        if isinstance(leaf, str | int) and not isinstance(leaf, bool) and name:
            texts.setdefault(name, []).append(str(leaf))
    return texts


def _leaves(value: Any, depth: int, name: str = "") -> Iterator[tuple[str, Any]]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[str, Any]", value).items():
            yield from _leaves(item, depth + 1, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        yield "", len(items)
        for item in items:
            yield from _leaves(item, depth + 1, name)
    elif isinstance(value, str) and value[:1] in ("{", "["):
        try:
            yield from _leaves(msgspec.json.decode(value), depth + 1, name)
        except (msgspec.DecodeError, RecursionError):
            yield name, value
    else:
        yield name, value
