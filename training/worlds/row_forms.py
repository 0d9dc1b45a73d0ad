"""How tools show rows: as data, as tables of several kinds, as lines that a person would write."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence

from training.worlds.tools import shown

Value = float | int | str
Row = dict[str, Value]
Told = Mapping[str, str]
"""Of each key: what is said of it, with {name} and {value}."""
Form = Callable[[random.Random, Sequence[Row], Told], str]


def _others(rows: Sequence[Row]) -> tuple[str, list[str]]:
    name, *others = rows[0]
    return name, others


def _json(r: random.Random, rows: Sequence[Row], told: Told) -> str:
    return json.dumps(rows, ensure_ascii=False)


def _by_name(r: random.Random, rows: Sequence[Row], told: Told) -> str:
    name, others = _others(rows)
    return json.dumps({str(row[name]): {key: row[key] for key in others} for row in rows}, ensure_ascii=False)


def _wrapped(r: random.Random, rows: Sequence[Row], told: Told) -> str:
    key = r.choice(("items", "results", "rows", "entries", "found"))
    count = {"count": len(rows)} if r.random() < 0.4 else {}
    return json.dumps({**count, key: rows}, ensure_ascii=False)


def _between(between: str) -> Form:
    def form(r: random.Random, rows: Sequence[Row], told: Told) -> str:
        keys = list(rows[0])
        if between != ";" and r.random() < 0.5:
            keys = r.sample(keys, len(keys))
        heads = [key.replace("_", " ") if between != ";" else key for key in keys]
        return "\n".join([between.join(heads), *(between.join(shown(row[key]) for key in keys) for row in rows)])

    return form


def _markdown(r: random.Random, rows: Sequence[Row], told: Told) -> str:
    head, *lines = _between(" | ")(r, rows, told).split("\n")
    rule = "|".join(["", *["---"] * len(rows[0]), ""])
    return "\n".join([f"| {head} |", rule, *(f"| {line} |" for line in lines)])


def _labelled(r: random.Random, rows: Sequence[Row], told: Told) -> str:
    name, others = _others(rows)
    between = r.choice((", ", "; "))
    lines = [between.join(f"{key.replace('_', ' ')} {shown(row[key])}" for key in others) for row in rows]
    return "\n".join(f"{row[name]}: {line}" for row, line in zip(rows, lines, strict=True))


def _phrase(key: str, row: Row, told: Told) -> str:
    """ "costs 39 EUR" where that is how it is told, "fare 39" elsewhere."""
    text = told.get(key, "")
    if not text.startswith("{name} ") or text.count("{name}") > 1:
        return f"{key.replace('_', ' ')} {shown(row[key])}"
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
    labels = {key: "" if len(others) == 1 else f"{key.replace('_', ' ')} " for key in others}
    said = [", ".join(f"{labels[key]}{shown(row[key])}" for key in others) for row in rows]
    return between.join(f"{row[name]} ({part})" for row, part in zip(rows, said, strict=True))


def _sheet(r: random.Random, rows: Sequence[Row], told: Told) -> str:
    keys = list(rows[0])
    blocks = ["\n".join(f"{key.replace('_', ' ')}: {shown(row[key])}" for key in keys) for row in rows]
    return "\n\n".join(blocks)


FORMS: tuple[tuple[Form, int], ...] = (
    (_json, 4),
    (_wrapped, 2),
    (_by_name, 2),
    (_between(" | "), 2),
    (_between(";"), 1),
    (_markdown, 2),
    (_labelled, 2),
    (_phrased, 4),
    (_sentences, 2),
    (_inline, 1),
    (_sheet, 1),
)
SHORTEST = _between(";")


def text(r: random.Random, rows: Sequence[Row], told: Told, longest: int) -> str:
    """The first key of a row is its name."""
    form = r.choices([form for form, _ in FORMS], [weight for _, weight in FORMS])[0]
    found = form(r, rows, told)
    return found if len(found) < longest else SHORTEST(r, rows, told)
