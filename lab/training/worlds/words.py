"""Values that tasks are made of: names, numbers of things, times, amounts. Nothing here is taken from a task set."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from pathlib import Path

Source = Callable[[random.Random], str]

_LISTS: dict[str, list[str]] = json.loads((Path(__file__).parent / "words.json").read_text())
FIRST, LAST, CITIES = _LISTS["first"], _LISTS["last"], _LISTS["cities"]
ADJECTIVES, NOUNS, PRODUCTS = _LISTS["adjectives"], _LISTS["nouns"], _LISTS["products"]

CURRENCIES = {
    "USD": "US dollars",
    "EUR": "euros",
    "GBP": "British pounds",
    "CHF": "Swiss francs",
    "JPY": "Japanese yen",
    "SEK": "Swedish kronor",
    "NOK": "Norwegian kroner",
    "PLN": "Polish zloty",
    "CZK": "Czech korunas",
    "INR": "Indian rupees",
    "BRL": "Brazilian reais",
    "CAD": "Canadian dollars",
    "AUD": "Australian dollars",
    "MXN": "Mexican pesos",
}
UNITS = (
    ("km", "miles", 0.621371),
    ("miles", "km", 1.609344),
    ("kg", "pounds", 2.204623),
    ("pounds", "kg", 0.453592),
    ("metres", "feet", 3.28084),
    ("feet", "metres", 0.3048),
    ("litres", "gallons", 0.264172),
    ("gallons", "litres", 3.785412),
    ("hours", "minutes", 60.0),
    ("minutes", "seconds", 60.0),
    ("days", "hours", 24.0),
    ("cm", "inches", 0.393701),
    ("inches", "cm", 2.54),
    ("GB", "MB", 1024.0),
    ("weeks", "days", 7.0),
    ("g", "ounces", 0.035274),
)


def person(r: random.Random) -> str:
    return f"{r.choice(FIRST)} {r.choice(LAST)}"


def named(r: random.Random) -> str:
    """A proper name of a thing: a ship, a hotel, a project."""
    return f"{r.choice(ADJECTIVES).title()} {r.choice(NOUNS).title()}"


def code(prefix: str, digits: int = 4, dash: bool = True) -> Source:
    def make(r: random.Random) -> str:
        return f"{prefix}{'-' if dash else ''}{r.randint(10 ** (digits - 1), 10**digits - 1)}"

    return make


def clock(r: random.Random) -> str:
    return f"{r.randint(0, 23):02d}:{r.choice((0, 5, 10, 15, 20, 25, 30, 40, 45, 50, 55)):02d}"


def date(r: random.Random) -> str:
    return f"{r.randint(2024, 2027)}-{r.randint(1, 12):02d}-{r.randint(1, 28):02d}"


def email(r: random.Random) -> str:
    return f"{r.choice(FIRST).lower()}.{r.choice(LAST).lower()}@{r.choice(NOUNS)}.example"


def phone(r: random.Random) -> str:
    return f"+{r.randint(20, 98)} {r.randint(100, 999)} {r.randint(10000, 99999)}"


def file_name(r: random.Random) -> str:
    return f"{r.choice(NOUNS)}_{r.choice(ADJECTIVES)}.{r.choice(('txt', 'md', 'csv', 'log', 'json', 'py'))}"


def number(value: float) -> str:
    """A number as people write it: no trailing zeros, at most six decimals."""
    return f"{round(value, 6):.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def snake(text: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in text.lower().replace("'", ""))


def spoken(name: str) -> str:
    """The name of a key or tool as words."""
    return name.replace("_", " ")


def one_in_ten(name: str) -> bool:
    """The same in every process."""
    return zlib.crc32(name.encode()) % 10 == 0


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def misspelt(r: random.Random, text: str) -> str:
    """The text with one slip of the pen; never the text itself."""
    for _ in range(20):
        i = r.randrange(1, len(text))
        slips = (
            text[:i] + text[i + 1 :],
            text[:i] + text[i] + text[i:],
            text[: i - 1] + text[i] + text[i - 1] + text[i + 1 :],
        )
        slip = r.choice(slips)
        if slip != text and slip.strip() == slip and slip[:1] == text[:1]:
            return slip
    return text + "s"
