"""Codes in another form than the tool takes: its error tells by an example how they are written."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from training.scenario import Act, Say, Scenario, Step
from training.worlds import words as w
from training.worlds.naming import styled
from training.worlds.tools import Facts, parameters, text_schema
from treadle import Tool, ToolError

FILE = Path(__file__).parents[1] / "worlds" / "codes.json"
LETTERS = "ABCDEFGHJKLMNPRSTVWXZ"


class Thing(msgspec.Struct, forbid_unknown_fields=True):
    """What has a code, and what one may want to know about it."""

    name: str
    code: str
    parameters: tuple[str, ...]
    tools: tuple[str, ...]
    asked: tuple[str, ...]
    """With {code}."""
    field: str
    values: tuple[str, ...]
    told: str
    """With {code} and {value}."""
    kinds: tuple[str, ...] = ()
    """Kinds of it that people name in place of the letter."""


@cache
def things() -> list[Thing]:
    return msgspec.json.decode(FILE.read_bytes(), type=list[Thing])


class Written(NamedTuple):
    """A form of a code: where letters and number stand, and how long the number is."""

    pattern: str
    digits: int

    def __call__(self, letters: str, number: int) -> str:
        return self.pattern.format(letters=letters, number=str(number).zfill(self.digits))


PATTERNS = ("{letters}-{number}", "{letters}{number}", "{letters}.{number}", "{letters}/{number}", "{letters} {number}")
TURNED = ("{number}-{letters}", "{number}{letters}", "{number}/{letters}", "{number}.{letters}")


def _forms(r: random.Random) -> tuple[Written, Written]:
    """How people have it, and how the tool takes it: another order, sign or length."""
    old = Written(r.choice((*PATTERNS, *TURNED)), 0)
    while True:
        new = Written(r.choice(PATTERNS[:4] if r.random() < 0.7 else TURNED), r.choice((0, 3, 4, 5, 6)))
        if new.pattern != old.pattern or new.digits > 3:
            return old, new


class Case(NamedTuple):
    said: str
    """The code as the question has it."""
    first: str
    """As one would try it."""
    right: str
    rule: str


def _changed(r: random.Random, thing: Thing) -> Case:
    old, new = _forms(r)
    letters = "".join(r.sample(LETTERS, r.choice((1, 2, 2, 3))))
    number, other = r.randint(10, 999), r.randint(10, 999)
    others = "".join(r.sample(LETTERS, len(letters))) if r.random() < 0.6 else letters
    said, right = old(letters, number), new(letters, number)
    example, before = new(others, other), old(others, other)
    rule = r.choice(
        (
            f"{said!r} is not a {thing.code}. They are written differently now: {before} is {example} today.",
            f"no such {thing.code}. The old {before} has become {example}.",
            f"old form; what was {before} is {example}",
            f"cannot read {said!r}: write it as {example} for {before}",
        )
    )
    return Case(said, said, right, rule)


def _padded(r: random.Random, thing: Thing) -> Case:
    """The number alone is said; letters and zeros are the same for all."""
    letters, number = "".join(r.sample(LETTERS, r.choice((1, 2, 2, 3)))), r.randint(10, 9999)
    new = Written(r.choice(PATTERNS[:4]), r.choice((4, 5, 6)))
    example, said = new(letters, r.randint(1, 999)), str(number)
    rule = r.choice(
        (
            f"{said!r} is not a {thing.code}. One looks like this: {example}",
            f"a {thing.code} has {new.digits} digits after {letters}, e.g. {example}",
            f"unknown {thing.code} {said}; expected something like {example}",
            f"invalid: use the form {example}",
        )
    )
    return Case(said, said, new(letters, number), rule)


def _by_kind(r: random.Random, thing: Thing) -> Case:
    """The letter tells the kind, which people say in words."""
    new = Written(r.choice(PATTERNS[:4]), r.choice((0, 3, 4, 5)))
    letters = {kind: kind[0].upper() for kind in thing.kinds}
    kind, number = r.choice(thing.kinds), r.randint(10, 999)
    table = ", ".join(f"{letter} for {name}" for name, letter in r.sample(list(letters.items()), len(letters)))
    example = new(r.choice([*letters.values()]), r.randint(1, 99))
    rule = r.choice(
        (
            f"a {thing.code} begins with a letter ({table}), for example {example}",
            f"{number} alone is not enough: {table}; written like {example}",
            f"which one? {table}. Form: {example}",
        )
    )
    said = r.choice((f"{number} ({kind})", f"{number}, {kind},", f"number {number}, which is a {kind} one,"))
    return Case(said, str(number), new(letters[kind], number), rule)


def _by_year(r: random.Random, thing: Thing) -> Case:
    """A number and a year of two digits."""
    number, year = r.randint(1, 999), r.randint(75, 124)
    old, digits = r.choice(("{number}/{year}", "{number}-{year}", "{number}.{year}")), r.choice((3, 4))
    new = r.choice(("{whole}-{number}", "{whole}/{number}", "{number}/{whole}", "{whole}.{number}"))

    def forms(number: int, year: int) -> tuple[str, str]:
        short, whole = f"{year % 100:02}", str(1900 + year)
        return old.format(number=number, year=short), new.format(number=str(number).zfill(digits), whole=whole)

    said, right = forms(number, year)
    before, example = forms(r.randint(1, 999), r.randint(76, 99))
    rule = r.choice(
        (
            f"{said!r} is an old {thing.code}: {before} is {example} now",
            f"write the year in full: {before} is {example}",
            f"not a {thing.code}. They look like {example} (that was {before})",
        )
    )
    return Case(said, said, right, rule)


def by_example(r: random.Random, facts: Facts) -> Scenario:
    thing = r.choice(things())
    makes = (_changed, _changed, _padded, _padded, _by_year, *((_by_kind, _by_kind) if thing.kinds else ()))
    case = r.choice(makes)(r, thing)
    value = r.choice(thing.values)
    name = r.choice(thing.parameters)
    form = r.choice(("json", "json", "line", "plain"))

    def call(**args: str) -> str:
        if args[name] != case.right:
            raise ToolError(case.rule)
        if form == "json":
            return json.dumps({name: case.right, thing.field: value})
        return value if form == "plain" else f"{case.right}: {w.spoken(thing.field)} {value}"

    about = (f"What is known of a {thing.name}.", f"Looks up a {thing.name}.", f"A {thing.name} by its {thing.code}.")
    tool = Tool(
        styled(r, r.choice(thing.tools)),
        r.choice(about),
        parameters({name: text_schema(r.choice(("", thing.code)))}),
        call,
        effect="pure",
    )
    tried = [] if case.first == case.right else [Act(tool.name, {name: case.first})]
    answer = thing.told.replace("{code}", case.right).replace("{value}", value)
    steps: list[Step] = [*tried, Act(tool.name, {name: case.right}), Say(answer)]
    return Scenario("by_example", [tool], r.choice(thing.asked).replace("{code}", case.said), steps)
