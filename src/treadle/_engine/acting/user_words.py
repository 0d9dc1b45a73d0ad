"""Whether the arguments of a call are in the user's own words.

Every value must be there: a text as a whole and between boundaries ("evil.org" is not in "bob@evil.org"), a number,
date or time by what it means ("January 5th 2025" is 2025-01-05). What equals the schema's default says nothing and is
left out. One of them must be a value that the user has given, and not a word of the sentence: quoted, a name, an
address, a path, a number that is not small or stands next to its parameter's name ("file 5"). A secret is quoted or
stands behind its parameter's name: no place, account or amount of the question becomes a password. And the user must
have named the act: who asks about "report.txt" has not asked to delete it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import Any, cast

from treadle._safety.beside import read_beside
from treadle._safety.secrets import names_secret
from treadle._types.dates import replace_dates

_JOINS = "._@/:+-\\~#?=&%"
"""What continues a token when a letter or digit follows."""
_QUOTES = ('""', "''", "``", "\u201c\u201d", "\u2018\u2019", "\u00ab\u00bb", "\u201e\u201c")
_MAX_LEAVES = 200
_ANY_YEAR = re.compile(r"(?<![\w.-])((?:19|20)\d{2})(?![\w-]|\.\d)")
_CLOCK = re.compile(r"(?<![\d:.])(\d{1,2}):(\d{2})(?::\d{2})?(?![\d:])\s*([ap]m\b)?", re.IGNORECASE)
_HOUR = re.compile(r"(?<![\d:.])(\d{1,2})\s*([ap]m)\b", re.IGNORECASE)
_SPELLED = {"an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
_DURATION = re.compile(rf"\b(\d{{1,3}}|{'|'.join(_SPELLED)})[\s-]*(hour|hr|minute|min)s?\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.,:/@-])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w:/@-]|[.,]\d)")
_MONEY = re.compile(r"[$€£¥]\s?(\d[\d,]*(?:\.\d+)?)(?![\w-]|[.,]\d)")
_SIGNED_MONEY = re.compile(r"(?<!\w)-\s?[$€£¥]\s?(?=\d)")
_DATE_VALUE = re.compile(r"(\d{4}-\d{2}-\d{2})?(?:[T ]?(\d{2}):(\d{2})(?::00)?)?", re.ASCII)


async def in_words(texts: Sequence[str], holds: Callable[[UserWords], bool]) -> bool:
    """Return whether something holds for what a user has said."""
    return await read_beside(sum(map(len, texts)), lambda: holds(UserWords(texts)))


class UserWords:
    """What a user has said, prepared for looking values up in it."""

    def __init__(self, texts: Sequence[str]) -> None:
        said = [_flat(text) for text in texts]
        # A user may type full-width letters that a model writes as plain ones. Never the other way round: a value that
        # only looks like what the user said is another value.
        forms = (unicodedata.normalize(form, text) for form in ("NFC", "NFKC") for text in said)
        self._texts = list(dict.fromkeys((*said, *forms)))
        everything = "\n".join(self._texts)
        self._lower = [text.lower() for text in self._texts]
        self._numbers = {number for text in _NUMBER.findall(everything) if (number := _decimal(text)) is not None}
        self._amounts = {number for text in _MONEY.findall(everything) if (number := _decimal(text)) is not None}
        self._dates, self._times = days_in(everything), times_in(everything)
        self._everything = everything.lower()

    def name_act(self, tool: str) -> bool:
        """Return whether the words have the verb that a tool's name begins with, in any of its plain forms."""
        verb = next(iter(re.findall(r"[A-Za-z][a-z]*|[^\W\d_]+", tool)), tool).casefold()
        stem = verb.removesuffix("e")
        forms = rf"\b{re.escape(stem)}(?:e|s|es|ed|ing|{re.escape(stem[-1:])}ing|{re.escape(stem[-1:])}ed)?\b"
        return re.search(forms, self._everything.casefold()) is not None

    def contain_call(self, args: Mapping[str, Any], parameters: Mapping[str, Any]) -> bool:
        """Return whether all values of the call are in the words, and one of them not by chance."""
        found = self._found_all(args, parameters)
        return None not in found and True in found

    def contain_each(self, args: Mapping[str, Any], parameters: Mapping[str, Any]) -> bool:
        """Return whether each value of the call is in the words, and none of them by chance."""
        return all(self._found_all(args, parameters))

    def contain(self, name: str, value: Any) -> bool:
        """Return whether one value is in the words, and not by chance."""
        return bool(self._found(name, value))

    def _found_all(self, args: Mapping[str, Any], parameters: Mapping[str, Any]) -> list[bool | None]:
        leaves = list(islice(_leaves(args, parameters), _MAX_LEAVES + 1))
        return [self._found(*leaf) for leaf in leaves] if len(leaves) <= _MAX_LEAVES else [None]

    def _found(self, name: str, value: Any) -> bool | None:
        """None: not in the words; False: there, perhaps by chance; True: there."""
        if isinstance(value, bool):
            return False if all(_whole(self._everything, word) for word in _name_words(name)) else None
        if isinstance(value, int | float) and not names_secret(name):
            return self._number(name, Decimal(str(value)), str(value))
        text = _flat(str(value))
        if not text or (names_secret(name) and not self._handed(name, text)):
            return None
        if re.fullmatch(r"[-+]?\d+(?:\.\d+)?", text, re.ASCII):
            # A text is what it is: "007" is not 7.
            literal = any(_whole(said, text) for said in self._texts)
            return self._number(name, Decimal(text), text) if literal else None
        if (moment := _DATE_VALUE.fullmatch(text)) is not None:
            return True if self._moment(*moment.groups()) else None
        exact = not text.isascii() or any(char.isdigit() or char in "/\\" for char in text)
        where, wanted = (self._texts, text) if exact else (self._lower, text.lower())
        if not any(_whole(said, wanted) for said in where):
            return None
        return exact or any(_is_value(whole, text) for whole in self._texts)

    def _number(self, name: str, number: Decimal, text: str) -> bool | None:
        if number in self._amounts:
            return True
        if number not in self._numbers and not (len(text) > 3 and any(_whole(said, text) for said in self._texts)):
            return None
        beside = any(re.search(rf"\b{re.escape(word)}\W{{1,3}}(?:id\W{{1,3}})?{re.escape(text)}(?![\w-]|[.,]\d)",
                               self._everything) for word in _name_words(name))  # fmt: skip
        return beside or abs(number) >= 100 or number != number.to_integral_value()

    def _handed(self, name: str, text: str) -> bool:
        """Return whether a value is quoted, or follows its parameter's name ("the password to aB3x9"), which an
        ordinary word may do by chance."""
        if any(_quoted(whole, text) for whole in self._texts):
            return True
        near = rf"\b(?i:{'|'.join(map(re.escape, _name_words(name)))})[^\w.!?\n]{{1,3}}(?:\w{{1,20}}[^\w.!?\n]{{1,3}})?"
        behind = re.compile(rf"{near}{re.escape(text)}(?!\w)")
        return not (text.isalpha() and text.islower()) and any(map(behind.search, self._texts))

    def _moment(self, day: str | None, hour: str | None, minute: str | None) -> bool:
        if day is not None and day not in self._dates:
            return False
        return hour is None or int(hour) * 60 + int(minute or 0) in self._times


def _flat(text: str) -> str:
    return _SIGNED_MONEY.sub("-", " ".join(text.replace("\N{MINUS SIGN}", "-").split()))


def _is_value(text: str, value: str) -> bool:
    """Return whether a text that stands in the words is a value there: quoted, an address or a name with signs inside,
    or a name with capital letters that is not the beginning of a sentence."""
    if _quoted(text.lower(), value.lower()):
        return True
    if any(char in _JOINS for char in value.strip(_JOINS)):
        return True
    if not all(word[:1].isupper() for word in value.split()):
        return False
    return any(
        _whole(text[max(0, at - 2) : at + len(value) + 2].lstrip(), value) and not begins_sentence(text, at)
        for at in _places(text, value)
    )


def _quoted(text: str, value: str) -> bool:
    return any(f"{opening}{value}{closing}" in text for opening, closing in _QUOTES)


def begins_sentence(text: str, at: int) -> bool:
    """Return whether a place in a text is the first of a sentence or a line."""
    while at > 0 and (text[at - 1].isspace() or text[at - 1] in "\"'“("):
        at -= 1
        if text[at] == "\n":
            return True
    return at == 0 or text[at - 1] in ".!?:"


def _places(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def _whole(text: str, wanted: str) -> bool:
    """Return whether `wanted` stands in the text and is not a part of something longer."""
    return wanted != "" and any(
        not _continues(text[max(0, at - 2) : at][::-1], wanted[0])
        and not _continues(text[at + len(wanted) : at + len(wanted) + 2], wanted[-1])
        for at in _places(text, wanted)
    )


def _continues(next_two: str, edge: str) -> bool:
    """Return whether a token goes on beyond its `edge` with these characters (read away from it)."""
    if not next_two:
        return False
    near, far = next_two[0], next_two[1:]
    if near in "-+" and edge.isdigit():  # "5000" is not in "-5000"
        return True
    if near.isspace() or edge.isspace():
        return False
    if _is_word(near):
        return _is_word(edge) or edge in _JOINS
    return near in _JOINS and bool(far) and not far.isspace() and (_is_word(far) or far in _JOINS)


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_" or unicodedata.category(char)[0] in "MC"


def _name_words(name: str) -> list[str]:
    words = re.findall(r"[A-Za-z][a-z]*|\d+", name)
    return [word.casefold() for word in words if word.casefold() not in ("id", "is", "new", "the", "number")] or [name]


def _leaves(args: Mapping[str, Any], parameters: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each value of the arguments with the name it stands under; what is left out as well by leaving it empty is not
    there. Names that no schema gives are values themselves."""
    known = _property_names(parameters)
    properties: Any = parameters.get("properties") or {}
    for name, value in args.items():
        if is_default(properties.get(name), value):
            continue
        if name not in known:
            yield "", name
        yield from _inside(name, value, known)


def is_default(schema: Any, value: Any) -> bool:
    """Return whether a value is what the schema puts in the place of nothing."""
    if not isinstance(schema, Mapping) or "default" not in schema:
        return False
    default: Any = cast("Mapping[str, Any]", schema)["default"]
    return type(default) is type(value) and default == value


def _inside(name: str, value: Any, known: set[str]) -> Iterator[tuple[str, Any]]:
    if value is None:
        return
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[str, Any]", value).items():
            if key not in known:
                yield "", key
            yield from _inside(key, item, known)
    elif isinstance(value, list | tuple):
        for item in cast("Sequence[Any]", value):
            yield from _inside(name, item, known)
    else:
        yield name, value


def _property_names(schema: Any, depth: int = 0) -> set[str]:
    """Every name that a schema gives to a value, at any depth."""
    names: set[str] = set()
    if depth > 20:
        return names
    if isinstance(schema, Mapping):
        fields = cast("Mapping[str, Any]", schema)
        properties: Any = fields.get("properties")
        if isinstance(properties, Mapping):
            names.update(cast("Mapping[str, Any]", properties))
        for item in fields.values():
            names |= _property_names(item, depth + 1)
    elif isinstance(schema, list | tuple):
        for item in cast("Sequence[Any]", schema):
            names |= _property_names(item, depth + 1)
    return names


def _decimal(text: str) -> Decimal | None:
    try:
        number = Decimal(text.replace(",", ""))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def days_in(text: str) -> set[str]:
    """The days the text names, as ISO dates; one without a year is meant in any year the text names."""
    days: list[tuple[int, int, int]] = []

    def take(year: int, month: int, day: int) -> None:
        days.append((year, month, day))

    replace_dates(text, take)
    years = {int(year) for year in _ANY_YEAR.findall(text)} | {year for year, _, _ in days if year}
    return {iso for year, *rest in days for y in ([year] if year else years) if (iso := _iso(y, *rest))}


def _iso(year: int, month: int, day: int) -> str:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


def times_in(text: str) -> set[int]:
    """The times of day the text names, in minutes, and the ends of what starts then and lasts as long as it says."""
    clock = [(hour, minute, half) for hour, minute, half in _CLOCK.findall(text)]
    clock += [(hour, "0", half) for hour, half in _HOUR.findall(text)]
    times: set[int] = set()
    for hour, minute, half in clock:
        hours = int(hour) % 12 + 12 * (half.casefold() == "pm") if half else int(hour)
        if hours < 24 and int(minute) < 60:
            times.add(hours * 60 + int(minute))
    lengths = {
        (int(count) if count.isdigit() else _SPELLED[count.casefold()]) * (60 if unit.casefold()[0] == "h" else 1)
        for count, unit in _DURATION.findall(text)
    }
    return times | {start + length for start in times for length in lengths if start + length < 24 * 60}
