"""Parameters of all types, each with a value and the words in which people give it."""

from __future__ import annotations

import calendar
import datetime
import random
from collections.abc import Callable
from typing import Any, NamedTuple

from training.worlds import words as w

Sample = Callable[[random.Random], tuple[Any, str]]
MONTHS = tuple(calendar.month_name[1:])
NUMBER_WORDS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)


class Field(NamedTuple):
    name: str
    schema: dict[str, Any]
    sample: Sample
    required: bool = True


def _spoken_date(r: random.Random, years: tuple[int, int]) -> tuple[str, str]:
    day = datetime.date(r.randint(*years), r.randint(1, 12), r.randint(1, 28))
    month = MONTHS[day.month - 1]
    said = r.choice(
        (
            day.isoformat(),
            f"{day.day} {month} {day.year}",
            f"{month} {day.day}, {day.year}",
            f"the {day.day}. of {month} {day.year}",
            f"{day.day:02d}.{day.month:02d}.{day.year}" if day.day > 12 else day.isoformat(),
        )
    )
    return day.isoformat(), said


def day(name: str, word: str = "on", required: bool = True, years: tuple[int, int] = (2025, 2027)) -> Field:
    def sample(r: random.Random) -> tuple[str, str]:
        value, said = _spoken_date(r, years)
        return value, f"{word} {said}"

    return Field(name, {"type": "string", "description": "Date as YYYY-MM-DD"}, sample, required)


def hour(name: str, word: str = "at", required: bool = True) -> Field:
    def sample(r: random.Random) -> tuple[str, str]:
        h, m = r.randint(0, 23), r.choice((0, 15, 30, 45))
        half = f"{(h % 12) or 12}{f':{m:02d}' if m else ''} {'am' if h < 12 else 'pm'}"
        return f"{h:02d}:{m:02d}", f"{word} {r.choice((f'{h:02d}:{m:02d}', half))}"

    return Field(name, {"type": "string", "description": "Time as HH:MM, 24 hours"}, sample, required)


def count(name: str, phrase: str, low: int = 1, high: int = 12, required: bool = True) -> Field:
    """A whole number, now and then as a word. `phrase` has it in braces."""

    def sample(r: random.Random) -> tuple[int, str]:
        n = r.randint(low, high)
        said = NUMBER_WORDS[n] if 1 < n < len(NUMBER_WORDS) and r.random() < 0.3 else str(n)
        return n, phrase.format(said)

    return Field(name, {"type": "integer"}, sample, required)


def measure(name: str, phrase: str, low: float, high: float, digits: int = 1, required: bool = True) -> Field:
    def sample(r: random.Random) -> tuple[float, str]:
        value = round(r.uniform(low, high), digits)
        value = int(value) if r.random() < 0.4 or value == int(value) else value
        return value, phrase.format(w.number(value))

    return Field(name, {"type": "number"}, sample, required)


def flag(name: str, yes: str, no: str = "", required: bool = False) -> Field:
    """A boolean. Without words for `no` it is only ever asked for as true."""

    def sample(r: random.Random) -> tuple[bool, str]:
        on = not no or r.random() < 0.6
        return on, yes if on else no

    return Field(name, {"type": "boolean"}, sample, required)


def choice(name: str, phrase: str, options: dict[str, str], required: bool = True, described: str = "") -> Field:
    """One of a fixed list: the value, and the word people use for it."""

    def sample(r: random.Random) -> tuple[str, str]:
        value = r.choice(list(options))
        return value, phrase.format(options[value])

    schema = {"type": "string", "enum": list(options)} | ({"description": described} if described else {})
    return Field(name, schema, sample, required)


def several(name: str, phrase: str, pool: tuple[str, ...], required: bool = True) -> Field:
    def sample(r: random.Random) -> tuple[list[str], str]:
        chosen = r.sample(pool, r.choice((1, 2, 2, 3, 3)))
        said = chosen[0] if len(chosen) == 1 else ", ".join(chosen[:-1]) + " and " + chosen[-1]
        return chosen, phrase.format(said)

    return Field(name, {"type": "array", "items": {"type": "string"}}, sample, required)


def numbers(name: str, phrase: str, required: bool = True) -> Field:
    def sample(r: random.Random) -> tuple[list[float], str]:
        whole = r.random() < 0.5
        values = [r.randint(1, 99) if whole else round(r.uniform(1, 99), 1) for _ in range(r.randint(3, 6))]
        return values, phrase.format(", ".join(map(w.number, values)))

    return Field(name, {"type": "array", "items": {"type": "number"}}, sample, required)


def text(name: str, phrase: str, source: w.Source, described: str = "", required: bool = True) -> Field:
    def sample(r: random.Random) -> tuple[str, str]:
        value = source(r)
        return value, phrase.format(value)

    return Field(name, {"type": "string"} | ({"description": described} if described else {}), sample, required)


def group(name: str, *fields: Field, required: bool = True) -> Field:
    """An object in the object."""

    def sample(r: random.Random) -> tuple[dict[str, Any], str]:
        made = {field.name: field.sample(r) for field in fields if field.required or r.random() < 0.5}
        return {key: value for key, (value, _) in made.items()}, " ".join(said for _, said in made.values())

    schema = {
        "type": "object",
        "properties": {field.name: field.schema for field in fields},
        "required": [field.name for field in fields if field.required],
    }
    return Field(name, schema, sample, required)
