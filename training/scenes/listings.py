"""Scenarios of reading a listing: one row of several is meant, by what it has most or least of, or by what it is."""

from __future__ import annotations

import random
from typing import NamedTuple

from training.scenario import Act, Say, Scenario, Step
from training.worlds.listings import Column, Row, Table, table
from training.worlds.tools import Facts

FOLLOWED = 0.45
"""Part of the questions that ask for something else of the row, too."""
BY_RECORD = 0.4
"""Part of these for which that is not in the listing, but in the record of the thing."""
AND = {"en": "and ", "de": "und ", "fr": "et ", "es": "y ", "it": "e "}


class Picked(NamedTuple):
    """What is asked, and which row is meant."""

    question: str
    row: Row
    column: Column
    bound: int = 0
    """The number that the question names."""


def listing(r: random.Random, facts: Facts) -> Scenario:
    given = table(r)
    columns = given.listing.columns
    asking = [column for column in columns if column.most or column.least or column.is_ or column.fits]
    picked = _picked(r, given, r.choice(asking))
    question = picked.question.replace("{arg}", given.arg)
    listed = Act(given.tool.name, {given.listing.parameter.name: given.arg})
    answer = given.told(picked.column, picked.row)
    more = [column for column in columns if column is not picked.column and column.asked]
    if not more or r.random() > FOLLOWED:
        return Scenario("listing", given.tools(r), question, [listed, Say(answer)])
    column = r.choice(more)
    question = f"{question.rstrip('?. ')}, {AND[given.listing.language]}{r.choice(column.asked).rstrip('?')}?"
    answer = f"{answer} {given.told(column, picked.row)}"
    if r.random() < BY_RECORD:
        record = Act(given.details, {given.name_key: picked.row[given.name_key]})
        script: list[Step] = [listed, record, Say(answer)]
        return Scenario("listing", given.tools(r, [column]), question, script)
    return Scenario("listing", given.tools(r), question, [listed, Say(answer)])


def _picked(r: random.Random, given: Table, column: Column) -> Picked:
    key = column.key
    if column.kind == "category":
        values = [row[key] for row in given.rows]
        row = r.choice([row for row in given.rows if values.count(row[key]) == 1])
        return Picked(r.choice(column.is_).replace("{value}", str(row[key])), row, column)
    ordered = sorted(given.rows, key=lambda row: row[key])
    if column.kind == "limit":
        row, other = (ordered[0], ordered[1]) if column.up else (ordered[-1], ordered[-2])
        low, high = (row[key], other[key] - 1) if column.up else (other[key] + 1, row[key])
        bound = r.randint(int(low), int(high))
        return Picked(r.choice(column.fits).replace("{x}", str(bound)), row, column, bound)
    least = bool(column.least) and (not column.most or r.random() < 0.5)
    return Picked(r.choice(column.least if least else column.most), ordered[0 if least else -1], column)
