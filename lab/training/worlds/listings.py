"""Listings: tools that tell several things at once, one row each, and a record of each thing (`listings.json`)."""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from training.worlds import row_forms
from training.worlds import words as w
from training.worlds.row_forms import Row, Value
from training.worlds.tools import shown
from treadle import Tool, ToolError

FILE = Path(__file__).with_name("listings.json")
FEWEST, MOST = 3, 7
"""Rows."""
LONGEST = 1000
"""Characters: the product leaves answers about longer results to the model without its adapter."""


class Column(msgspec.Struct, forbid_unknown_fields=True, rename={"is_": "is"}):
    key: str
    kind: Literal["number", "time", "date", "category", "limit"]
    low: float | str = 0
    high: float | str = 0
    step: float = 1
    unit: str = ""
    values: list[str] = []
    most: list[str] = []
    """Questions for the row that has most of it; all have {arg}."""
    least: list[str] = []
    is_: list[str] = []
    """Questions for the row of one {value}."""
    fits: list[str] = []
    """Questions for the only row whose limit {x} keeps."""
    up: bool = True
    """Of a limit: whether it says from where on."""
    asked: list[str] = []
    """What may follow on another question."""
    told: str = ""
    """With {name} and {value}."""

    def asks(self) -> bool:
        return bool(self.most or self.least or self.is_ or self.fits)


class Described(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    description: str


class Parameter(Described):
    values: list[str] = []


class Listing(msgspec.Struct, forbid_unknown_fields=True):
    thing: str
    things: str
    tools: list[Described]
    parameter: Parameter
    names: list[str]
    columns: list[Column]
    language: str = "en"


@cache
def listings() -> list[Listing]:
    return msgspec.json.decode(FILE.read_bytes(), type=list[Listing])


class Table(NamedTuple):
    """One listing with its rows."""

    listing: Listing
    arg: str
    name_key: str
    rows: list[Row]
    tool: Described
    details: str
    """The tool that tells everything about one thing."""
    state: Column | None = None
    """What is added to this table alone."""

    def columns(self) -> list[Column]:
        return [*self.listing.columns, *([self.state] if self.state else [])]

    def name(self, row: Row) -> str:
        return str(row[self.name_key])

    def told(self, column: Column, row: Row) -> str:
        said = column.told.replace("{name}", self.name(row)).replace("{value}", shown(row[column.key])).rstrip(".")
        return f"{said[0].upper()}{said[1:]}."

    def tools(self, r: random.Random, hidden: Sequence[Column] = ()) -> list[Tool]:
        """What lists the rows, and mostly what tells all of one; `hidden` columns are told by that one alone."""
        keys = [key for key in self.rows[0] if key not in {column.key for column in hidden}]
        told_of = {column.key: column.told for column in self.columns()}
        content = row_forms.text(r, [{key: row[key] for key in keys} for row in self.rows], told_of, LONGEST)
        parameter, name_key = self.listing.parameter, self.name_key

        def listed(**args: str) -> str:
            if args[parameter.name] != self.arg:
                raise ToolError("nothing found")
            return content

        def told(**args: str) -> str:
            for row in self.rows:
                if row[name_key] == args[name_key]:
                    return json.dumps(row, ensure_ascii=False)
            raise ToolError("nothing found")

        schema = {"type": "string", "description": parameter.description}
        if r.random() < 0.3:
            schema["enum"] = parameter.values
        tools = [_tool(self.tool.name, self.tool.description, parameter.name, schema, listed)]
        if hidden or r.random() < 0.5:
            about = r.choice(
                ("Everything about one of the {}.", "One of the {} in full.", "What is known of one of the {}.")
            )
            tools.append(_tool(self.details, about.format(self.listing.things), name_key, {"type": "string"}, told))
            r.shuffle(tools)
        return tools


def _tool(name: str, description: str, parameter: str, schema: dict[str, object], call: object) -> Tool:
    parameters = {"type": "object", "properties": {parameter: schema}, "required": [parameter]}
    return Tool(name, description, parameters, call, effect="pure")


def held_out(listing: Listing) -> bool:
    """Every tenth kind: reading is measured on it, where nothing of it has been learnt."""
    return w.one_in_ten(listing.thing)


def _narrower(r: random.Random, listing: Listing) -> Listing:
    """Some of its columns, at least one that can be asked for."""
    while True:
        columns = r.sample(listing.columns, r.randint(min(2, len(listing.columns)), len(listing.columns)))
        if any(column.asks() for column in columns):
            return msgspec.structs.replace(listing, columns=columns)


def table(r: random.Random, of: Sequence[Listing] | None = None) -> Table:
    listing = _narrower(r, r.choice(of or listings()))
    name_key = r.choice(("name", "title", w.snake(listing.thing)))
    count = r.randint(FEWEST, MOST)
    rows: list[Row] = [{name_key: name} for name in r.sample(listing.names, count)]
    for column in r.sample(listing.columns, len(listing.columns)):
        for row, value in zip(rows, values(r, column, count), strict=True):
            row[column.key] = value
    details = f"{w.snake(listing.thing)}_{r.choice(('details', 'card', 'record', 'info'))}"
    return Table(listing, r.choice(listing.parameter.values), name_key, rows, r.choice(listing.tools), details)


def values(r: random.Random, column: Column, count: int) -> list[Value]:
    """All different, so that one row has most; of a category one row at least is the only one of its value."""
    if column.kind == "category":
        one, *others = r.sample(column.values, len(column.values))
        return r.sample([one, *(r.choice(others) for _ in range(count - 1))], count)
    if column.kind == "time":
        first, last = (int(text[:2]) * 60 + int(text[3:]) for text in (str(column.low), str(column.high)))
        return [f"{at // 60:02}:{at % 60:02}" for at in _some(r, range(first, last + 1, int(column.step)), count)]
    if column.kind == "date":
        first, last = (datetime.date.fromisoformat(str(text)) for text in (column.low, column.high))
        days = _some(r, range(0, (last - first).days + 1, int(column.step)), count)
        return [str(first + datetime.timedelta(day)) for day in days]
    low, high = float(column.low), float(column.high)
    numbers = [
        round(low + place * column.step, 4) for place in _some(r, range(round((high - low) / column.step) + 1), count)
    ]
    return [int(number) if number == int(number) else number for number in numbers]


def _some(r: random.Random, places: range, count: int) -> list[int]:
    """Different ones, now and then close together."""
    if len(places) > 3 * count and r.random() < 0.4:
        start = r.randrange(len(places) - 3 * count)
        places = places[start : start + 3 * count]
    return r.sample(places, count)
