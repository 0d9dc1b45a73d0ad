"""Scenarios of reading a listing: one row of several is meant, by what it has most or least of, or by what it is.

The thought before the answer puts the values side by side: what a small model cannot compare in passing, it can when it
has written them down.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from training.scenario import Act, Say, Scenario, Step
from training.worlds.listings import Column, Row, Table, table
from training.worlds.tools import Facts, shown

SIDE_BY_SIDE = 5
"""Up to how many rows a thought names all of them."""
FOLLOWED = 0.45
"""Part of the questions that ask for something else of the row, too."""
BY_RECORD = 0.4
"""Part of these for which that is not in the listing, but in the record of the thing."""


class Words(NamedTuple):
    """How a thought says it, in one language."""

    lowest: str
    highest: str
    earliest: str
    latest: str
    only: str
    others: str
    also: str = ""


WORDS = {
    "en": Words("lowest", "highest", "earliest", "latest", "only", "the others", "and "),
    "de": Words("am kleinsten", "am größten", "am frühesten", "am spätesten", "nur", "die anderen", "und "),
    "fr": Words("le plus petit", "le plus grand", "le premier", "le dernier", "seulement", "les autres", "et "),
    "es": Words("el menor", "el mayor", "el primero", "el último", "solo", "los demás", "y "),
    "it": Words("il minore", "il maggiore", "il primo", "l'ultimo", "solo", "gli altri", "e "),
}


class Picked(NamedTuple):
    """What is asked, which row is meant, and why."""

    question: str
    row: Row
    column: Column
    thought: str


def listing(r: random.Random, facts: Facts) -> Scenario:
    given = table(r)
    words = WORDS[given.listing.language]
    columns = given.listing.columns
    asking = [column for column in columns if column.most or column.least or column.is_ or column.fits]
    picked = _picked(r, words, given, r.choice(asking))
    question = picked.question.replace("{arg}", given.arg)
    listed = Act(given.tool.name, {given.listing.parameter.name: given.arg})
    answer = given.told(picked.column, picked.row)
    more = [column for column in columns if column is not picked.column and column.asked]
    if not more or r.random() > FOLLOWED:
        return Scenario("listing", given.tools(r), question, [listed, Say(answer, thought=picked.thought)])
    column = r.choice(more)
    question = f"{question.rstrip('?. ')}, {words.also}{r.choice(column.asked).rstrip('?')}?"
    answer = f"{answer} {given.told(column, picked.row)}"
    if r.random() < BY_RECORD:
        record = Act(given.details, {given.name_key: picked.row[given.name_key]}, thought=picked.thought)
        script: list[Step] = [listed, record, Say(answer)]
        return Scenario("listing", given.tools(r, [column]), question, script)
    thought = f"{picked.thought} {column.key}: {shown(picked.row[column.key])}."
    return Scenario("listing", given.tools(r), question, [listed, Say(answer, thought=thought)])


def _picked(r: random.Random, words: Words, given: Table, column: Column) -> Picked:
    key = column.key
    if column.kind == "category":
        values = [row[key] for row in given.rows]
        row = r.choice([row for row in given.rows if values.count(row[key]) == 1])
        question = r.choice(column.is_).replace("{value}", str(row[key]))
        return Picked(question, row, column, f"{row[key]}: {words.only} {given.name(row)}.")
    ordered = sorted(given.rows, key=lambda row: row[key])
    if column.kind == "limit":
        row, other = (ordered[0], ordered[1]) if column.up else (ordered[-1], ordered[-2])
        x = (
            r.randint(int(row[key]), int(other[key]) - 1)
            if column.up
            else r.randint(int(other[key]) + 1, int(row[key]))
        )
        others = ", ".join(shown(one[key]) for one in given.rows if one is not row)
        thought = f"{x}: {words.only} {given.name(row)}, {shown(row[key])}; {words.others}: {others}."
        return Picked(r.choice(column.fits).replace("{x}", str(x)), row, column, thought)
    least = bool(column.least) and (not column.most or r.random() < 0.5)
    row = ordered[0] if least else ordered[-1]
    if column.kind == "number":
        word = words.lowest if least else words.highest
    else:
        word = words.earliest if least else words.latest
    return Picked(r.choice(column.least if least else column.most), row, column, _compared(r, given, key, row, word))


def _compared(r: random.Random, given: Table, key: str, row: Row, word: str) -> str:
    found = f"{word} {shown(row[key])}, {given.name(row)}."
    if len(given.rows) <= SIDE_BY_SIDE and r.random() < 0.5:
        return f"{', '.join(f'{given.name(one)} {shown(one[key])}' for one in given.rows)}: {found}"
    return f"{key} {', '.join(shown(one[key]) for one in given.rows)}: {found}"
