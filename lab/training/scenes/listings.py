"""Scenarios of reading a listing: one row of several is meant, by what it has most or least of, or by what it is; or
all rows that are something."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from training.scenario import Act, Say, Scenario, Step
from training.worlds import words as w
from training.worlds.listings import Column, Listing, Table, table
from training.worlds.row_forms import Row
from training.worlds.tools import Facts, shown

FOLLOWED = 0.45
"""Part of the questions that ask for something else of the row, too."""
BY_RECORD = 0.4
"""Part of these for which that is not in the listing, but in the record of the thing."""
CONDITIONED, BOUNDED, ALL_OF_THEM = 0.3, 0.4, 0.08
"""Parts of the English ones: those that leave some rows out before they ask for most or least, of these those that do
it by a number, and those that ask for all rows that are something."""
MATTERS = 0.75
"""Part of the conditions that leave out the row that would be meant without."""
AND = {"en": "and ", "de": "und ", "fr": "et ", "es": "y ", "it": "e "}
STATES = (
    ("state", "free", "taken"),
    ("status", "available", "booked"),
    ("status", "open", "closed"),
    ("state", "ready", "in repair"),
    ("availability", "in stock", "sold out"),
    ("status", "confirmed", "cancelled"),
    ("state", "on display", "in storage"),
    ("status", "active", "suspended"),
)
ONLY = (
    "{question} Only what is {value} counts.",
    "{question} It has to be {value}, though.",
    "{question} Leave out whatever isn't {value}.",
    "Of those that are {value}: {question}",
    "Looking only at what's {value}: {question}",
    "{question} (must be {value})",
)
ONLY_IN = (
    "{question} Only {key} {value}, please.",
    "{question} It must say {value} under {key}.",
    "With {key} {value} only: {question}",
    "Of those with {key} {value}: {question}",
)
AT_LEAST = (
    "{question} At least {bound} for {key}, please.",
    "{question} Its {key} has to be {bound} or more.",
    "With {key} of no less than {bound}: {question}",
    "{question} ({key} from {bound} up)",
)
ALL = (
    "Which of the {things} for {arg} are {value}?",
    "{arg}: which {things} are {value}?",
    "please list the {things} for {arg} that are {value}",
    "How many of the {things} listed for {arg} are {value}, and which?",
)


class Picked(NamedTuple):
    """What is asked, and which row is meant."""

    question: str
    row: Row
    column: Column
    bound: int = 0
    """The number that the question names."""
    most: bool = False
    among: Sequence[Row] = ()
    """The rows that a condition leaves."""


def listing(r: random.Random, facts: Facts, of: Sequence[Listing] | None = None) -> Scenario:
    given = table(r, of)
    if given.listing.language == "en" and r.random() < ALL_OF_THEM:
        return _all_of_them(r, given)
    return _followed(r, *_asked(r, given))


def to_record(r: random.Random, of: Sequence[Listing]) -> Scenario:
    """Whether a row is read right, without regard to words: its record has to be called for. Only that is counted."""
    given = table(r, of)
    given, picked = _asked(r, given)
    others = [one for one in given.listing.columns if one is not picked.column and one.asked]
    if not others:
        return to_record(r, of)
    hidden = r.choice(others)
    question = f"{picked.question.replace('{arg}', given.arg)} I would also like to know: {r.choice(hidden.asked)}?"
    record = Act(given.details, {given.name_key: picked.row[given.name_key]})
    answer = f"{given.told(picked.column, picked.row)} {given.told(hidden, picked.row)}"
    listed = _listed(given)._replace(trained=False)
    return Scenario("listing", given.tools(r, [hidden]), question, [listed, record, Say(answer)])


def _asked(r: random.Random, given: Table) -> tuple[Table, Picked]:
    column = r.choice([column for column in given.listing.columns if column.asks()])
    if given.listing.language == "en" and (column.most or column.least) and r.random() < CONDITIONED:
        return conditioned(r, given, column)
    return given, _picked(r, given, column)


def _followed(r: random.Random, given: Table, picked: Picked) -> Scenario:
    question = picked.question.replace("{arg}", given.arg)
    listed = _listed(given)
    answer = given.told(picked.column, picked.row)
    more = [column for column in given.listing.columns if column is not picked.column and column.asked]
    # Behind a condition another question would read as if it belonged to that.
    if not more or r.random() > FOLLOWED or given.state:
        return Scenario("listing", given.tools(r), question, [listed, Say(answer)])
    column = r.choice(more)
    question = f"{question.rstrip('?. ')}, {AND[given.listing.language]}{r.choice(column.asked).rstrip('?')}?"
    answer = f"{answer} {given.told(column, picked.row)}"
    if r.random() < BY_RECORD:
        record = Act(given.details, {given.name_key: picked.row[given.name_key]})
        script: list[Step] = [listed, record, Say(answer)]
        return Scenario("listing", given.tools(r, [column]), question, script)
    return Scenario("listing", given.tools(r), question, [listed, Say(answer)])


def _listed(given: Table) -> Act:
    return Act(given.tool.name, {given.listing.parameter.name: given.arg})


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
    return Picked(r.choice(column.least if least else column.most), ordered[0 if least else -1], column, most=not least)


def _with_state(r: random.Random, given: Table, kept: list[Row]) -> tuple[Table, str]:
    """The table with a column that sets `kept` apart; what it says of them."""
    key, value, other = r.choice([state for state in STATES if state[0] not in given.rows[0]])
    for row in given.rows:
        row[key] = value if row in kept else other
    state = Column(key, "category", values=[value, other], told="{name} is {value}")
    return given._replace(state=state), value


def conditioned(r: random.Random, given: Table, column: Column) -> tuple[Table, Picked]:
    """Most or least of it among some of the rows: those with enough of something else, those of a category, or those of
    a state that the table gets for it."""
    plain = _picked(r, given, column)
    kept, words = _bounded(r, given, plain) if r.random() < BOUNDED else ([], "")
    if not kept:
        kept, words = _of_category(r, given, plain)
    if not kept:
        open_to_choice = [row for row in given.rows if row is not plain.row] if r.random() < MATTERS else given.rows
        fewest = min(2, len(open_to_choice))
        most = max(fewest, min(len(open_to_choice), len(given.rows) - 1))
        kept = r.sample(open_to_choice, r.randint(fewest, most))
        given, value = _with_state(r, given, kept)
        words = r.choice(ONLY).replace("{value}", value)
    ordered = sorted(kept, key=lambda row: row[column.key])
    question = words.replace("{question}", plain.question)
    return given, Picked(question, ordered[-1 if plain.most else 0], column, most=plain.most, among=kept)


def _matters(r: random.Random, kept: list[Row], given: Table, plain: Picked) -> bool:
    return 2 <= len(kept) < len(given.rows) and (plain.row not in kept or r.random() > MATTERS)


def _bounded(r: random.Random, given: Table, plain: Picked) -> tuple[list[Row], str]:
    """Rows that have at least so much of another column; none where that changes nothing."""
    for other in (one for one in given.listing.columns if one.kind == "number" and one is not plain.column):
        bound = sorted(row[other.key] for row in given.rows)[r.randint(1, len(given.rows) - 2)]
        kept = [row for row in given.rows if row[other.key] >= bound]
        if _matters(r, kept, given, plain):
            return kept, r.choice(AT_LEAST).replace("{bound}", shown(bound)).replace("{key}", w.spoken(other.key))
    return [], ""


def _of_category(r: random.Random, given: Table, plain: Picked) -> tuple[list[Row], str]:
    for other in (one for one in given.listing.columns if one.kind == "category"):
        value = str(given.rows[0][other.key])
        kept = [row for row in given.rows if row[other.key] == value]
        if _matters(r, kept, given, plain):
            return kept, r.choice(ONLY_IN).replace("{key}", w.spoken(other.key)).replace("{value}", value)
    return [], ""


def _all_of_them(r: random.Random, given: Table) -> Scenario:
    kept = r.sample(given.rows, r.randint(1, min(4, len(given.rows) - 1)))
    given, value = _with_state(r, given, kept)
    names = [given.name(row) for row in given.rows if row in kept]
    named = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    question = r.choice(ALL).replace("{value}", value).replace("{things}", given.listing.things)
    verb = "is" if len(names) == 1 else "are"
    answer = f"{len(names)} of the {len(given.rows)} {given.listing.things} {verb} {value}: {named}."
    return Scenario("listing", given.tools(r), question.replace("{arg}", given.arg), [_listed(given), Say(answer)])
