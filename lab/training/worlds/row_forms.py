"""Rows as tools show them: in any of the formats for results, by their names, or as a person would write them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence

from training.worlds import formats
from training.worlds import words as w
from training.worlds.tools import shown

Value = float | int | str
Row = dict[str, Value]
Told = Mapping[str, str]
"""Of each key: what is said of it, with {name} and {value}."""
Form = Callable[[random.Random, Sequence[Row], Told], str]


def _others(rows: Sequence[Row]) -> tuple[str, list[str]]:
    name, *others = rows[0]
    return name, others


def _any_format(r: random.Random, rows: Sequence[Row], told: Told) -> str:
    return formats.some(r)(rows)


def _by_name(r: random.Random, rows: Sequence[Row], told: Told) -> str:
    name, others = _others(rows)
    return json.dumps({str(row[name]): {key: row[key] for key in others} for row in rows}, ensure_ascii=False)


def _phrase(key: str, row: Row, told: Told) -> str:
    """As it is told ("costs 39 EUR"), or with its key ("fare 39") where what is told does not begin with the name."""
    text = told.get(key, "")
    if not text.startswith("{name} ") or text.count("{name}") > 1:
        return f"{w.spoken(key)} {shown(row[key])}"
    return text.removeprefix("{name} ").replace("{value}", shown(row[key])).rstrip(".")


def _phrased(r: random.Random, rows: Sequence[Row], told: Told) -> str:
    name, others = _others(rows)
    times = [key for key in others if isinstance(rows[0][key], str) and str(rows[0][key])[2:3] == ":"]
    first = r.choice(times) if times and r.random() < 0.5 else ""
    lines: list[str] = []
    for row in rows:
        said = ", ".join(_phrase(key, row, told) for key in others if key != first)
        lines.append(f"{row[first]} {row[name]}, {said}" if first else f"{row[name]}: {said}")
    mark = r.choice(("- ", "", "* "))
    return "\n".join(f"{mark}{line}" for line in lines)


def _sentences(r: random.Random, rows: Sequence[Row], told: Told) -> str:
    name, others = _others(rows)
    said: list[str] = []
    for row in rows:
        *most, last = (_phrase(key, row, told) for key in others)
        said.append(f"{row[name]} {', '.join(most)} and {last}." if most else f"{row[name]} {last}.")
    return " ".join(said)


def _inline(r: random.Random, rows: Sequence[Row], told: Told) -> str:
    name, others = _others(rows)
    between = r.choice(("; ", ", "))
    labels = {key: "" if len(others) == 1 else f"{w.spoken(key)} " for key in others}
    said = [", ".join(f"{labels[key]}{shown(row[key])}" for key in others) for row in rows]
    return between.join(f"{row[name]} ({part})" for row, part in zip(rows, said, strict=True))


FORMS: tuple[tuple[Form, int], ...] = (
    (_any_format, 12),
    (_by_name, 2),
    (_phrased, 4),
    (_sentences, 2),
    (_inline, 1),
)


def text(r: random.Random, rows: Sequence[Row], told: Told, longest: int) -> str:
    """The first key of a row is its name."""
    form = r.choices([form for form, _ in FORMS], [weight for _, weight in FORMS])[0]
    found = form(r, rows, told)
    return found if len(found) < longest else formats.csv(rows)
