"""Scenarios in which what is asked is made of steps inside each other: the inner one first."""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from training.scenario import Say, Scenario, Step, act
from training.worlds import words as w
from training.worlds.devices import Calculator, compute
from training.worlds.tools import Facts, lookup, parameters, shown, text_schema
from treadle import Tool, ToolError


class Change(NamedTuple):
    """A tool that makes one value of another."""

    names: tuple[str, ...]
    description: str
    parameter: str
    of: str
    """How one speaks of the result, with the value in braces."""
    work: Callable[[str, str], str]
    extra: str = ""
    """A second parameter, a whole number."""


def _day(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text.strip())
    except ValueError:
        raise ToolError(f"{text!r} is no date; write it as 2025-01-31") from None


def _roman(n: int) -> str:
    out = ""
    for value, letters in zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ["M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"],
        strict=True,
    ):
        out += letters * (n // value)
        n %= value
    return out


DATES = (
    Change(
        ("shift_date", "date_plus", "move_date"),
        "The date a number of days after another (before, if negative).",
        "date",
        "the date {n} days after {v}",
        lambda v, n: (_day(v) + datetime.timedelta(int(n))).isoformat(),
        "days",
    ),
    Change(
        ("week_number", "calendar_week"),
        "The calendar week of a date.",
        "date",
        "the calendar week of {v}",
        lambda v, _: str(_day(v).isocalendar().week),
    ),
    Change(
        ("day_name", "name_of_day"),
        "The name of the day on which a date falls.",
        "date",
        "the name of the day of {v}",
        lambda v, _: _day(v).strftime("%A"),
    ),
    Change(
        ("quarter_of", "quarter"),
        "The quarter of the year a date is in.",
        "date",
        "the quarter of {v}",
        lambda v, _: f"Q{(_day(v).month + 2) // 3}",
    ),
)
TEXTS = (
    Change(
        ("upper_case", "capitals"),
        "A text in capital letters.",
        "text",
        "'{v}' in capitals",
        lambda v, _: v.upper(),
    ),
    Change(
        ("sort_letters",),
        "The letters of a word in alphabetical order.",
        "word",
        "the sorted letters of '{v}'",
        lambda v, _: "".join(sorted(v)),
    ),
    Change(
        ("count_letters", "text_length"),
        "How many letters a text has.",
        "text",
        "the length of '{v}'",
        lambda v, _: str(len(v)),
    ),
    Change(
        ("repeat_text", "repeat"),
        "A text several times in a row.",
        "text",
        "'{v}' repeated {n} times",
        lambda v, n: v * min(int(n), 20),
        "times",
    ),
)
NUMBERS = (
    Change(
        ("to_binary", "binary"),
        "A whole number in binary.",
        "number",
        "{v} in binary",
        lambda v, _: bin(int(float(v)))[2:],
    ),
    Change(
        ("to_roman", "roman_numeral"),
        "A whole number as a Roman numeral.",
        "number",
        "the Roman numeral for {v}",
        lambda v, _: _roman(int(float(v)) % 4000),
    ),
    Change(
        ("next_prime",),
        "The smallest prime above a number.",
        "number",
        "the next prime after {v}",
        lambda v, _: str(
            next(n for n in range(int(float(v)) + 1, 10**6) if all(n % d for d in range(2, int(n**0.5) + 1)))
        ),
    ),
)


class Changer:
    def __init__(self, r: random.Random, change: Change, style: int) -> None:
        self.change, self.style = change, style
        self.name, self.parameter = r.choice(change.names), change.parameter
        fields = {self.parameter: text_schema()}
        if change.extra:
            fields[change.extra] = {"type": "integer"}
        self.schema = parameters(fields)

    def args(self, value: str, n: int) -> dict[str, Any]:
        return {self.parameter: value} | ({self.change.extra: n} if self.change.extra else {})

    def result(self, value: str, n: int) -> str:
        return self.change.work(value, str(n))

    def call(self, **args: Any) -> str:
        result = self.change.work(str(args[self.parameter]), str(args.get(self.change.extra, 0)))
        return (result, json.dumps({"result": result}), f"Result: {result}")[self.style]

    def tool(self) -> Tool:
        return Tool(self.name, self.change.description, self.schema, self.call, effect="pure")


def nested(r: random.Random, facts: Facts) -> Scenario:
    """The result of one tool is what the next works on; the question names the outer one first."""
    family, value = r.choice(
        ((DATES, w.date(r)), (DATES, w.date(r)), (TEXTS, r.choice(w.NOUNS)), (NUMBERS, str(r.randint(4, 900))))
    )
    inner, outer = _two(r, family)
    if family is not DATES and r.random() < 0.4:
        inner = None
    steps: list[Step] = []
    tools: list[Any] = []
    of, current = value, value
    if inner is None:
        tool = lookup(facts, numeric=True)
        key = facts.thing(tool.kind.name)
        current = shown(tool.answer(key)).split(".")[0]
        if family is TEXTS or not current.isdigit():
            return _plain(r, outer, value)
        tools, steps, of = [tool], [act(tool, tool.args(key))], f"the {tool.what} of {key}"
        current = shown(tool.answer(key))
    else:
        first = Changer(r, inner, r.randrange(3))
        n = r.randint(2, 9) if inner.extra == "times" else r.choice((r.randint(1, 400), -r.randint(1, 60)))
        n = abs(n) if family is TEXTS else n
        phrase = inner.of.format(v=of, n=abs(n))
        of = phrase.replace("after", "before") if n < 0 else phrase
        steps.append(act(first, first.args(current, n)))
        current = first.result(current, n)
        tools.append(first)
    last = Changer(r, outer, r.randrange(3))
    n = r.randint(2, 4)
    steps.append(act(last, last.args(current, n)))
    tools.append(last)
    asked = outer.of.format(v=of, n=n).replace("''", "'")
    result = last.result(current, n)
    return Scenario("nested", tools, _asked(r, asked), [*steps, Say(f"{w.capital(asked)} is {result}.")])


def _two(r: random.Random, family: Sequence[Change]) -> tuple[Change | None, Change]:
    if family is DATES:  # only a date can be worked on again
        return DATES[0], r.choice(DATES[1:])
    if family is TEXTS:
        inner, outer = r.sample([change for change in TEXTS if change.names[0] != "count_letters"], 2)
        return inner, r.choice((outer, TEXTS[2]))
    return NUMBERS[2], r.choice(NUMBERS[:2])


def _plain(r: random.Random, change: Change, value: str) -> Scenario:
    tool, n = Changer(r, change, r.randrange(3)), r.randint(2, 6)
    asked = change.of.format(v=value, n=n)
    steps = [act(tool, tool.args(value, n)), Say(f"{w.capital(asked)} is {tool.result(value, n)}.")]
    return Scenario("nested", [tool], _asked(r, asked), steps)


def _asked(r: random.Random, what: str) -> str:
    return r.choice(
        (f"What is {what}?", f"Tell me {what}.", f"Give me {what}.", f"{w.capital(what)}?", f"I need {what}.")
    )


class Rate:
    """Tells a rate, not an amount: the rest is arithmetic."""

    def __init__(self, r: random.Random) -> None:
        self.names = r.choice((("base", "quote"), ("from", "to"), ("source", "target"), ("currency", "into")))
        self.name = r.choice(("get_rate", "currency_rate", "fx_rate", "rate_of_exchange", "quote_rate"))
        self.description = r.choice(
            ("How much one unit of a currency is worth in another.", "The rate between two currencies, by code.")
        )
        self.rates = {code: r.choice((0.25, 0.5, 0.8, 0.92, 1.1, 1.2, 1.75, 4.3, 7.5, 11.2)) for code in w.CURRENCIES}
        self.style = r.randrange(3)

    def rate(self, source: str, target: str) -> float:
        if source.upper() not in self.rates or target.upper() not in self.rates:
            raise ToolError("unknown currency; use codes such as EUR, USD, GBP")
        return round(self.rates[target.upper()] / self.rates[source.upper()], 4)

    def args(self, source: str, target: str) -> dict[str, Any]:
        return dict(zip(self.names, (source, target), strict=True))

    def call(self, **args: Any) -> str:
        source, target = (str(args[name]) for name in self.names)
        rate = w.number(self.rate(source, target))
        return (rate, f"1 {source} = {rate} {target}", json.dumps({"rate": float(rate)}))[self.style]

    def tool(self) -> Tool:
        fields = {name: text_schema() for name in self.names}
        return Tool(self.name, self.description, parameters(fields), self.call, effect="pure")


def by_rate(r: random.Random, facts: Facts) -> Scenario:
    """A price, a rate, and the product of the two; or an amount of money and a rate."""
    rate, calculator = Rate(r), Calculator(r)
    target = r.choice([code for code in w.CURRENCIES if code != "EUR"])
    into = w.CURRENCIES[target]
    steps: list[Step] = []
    tools: list[Any] = [rate, calculator]
    if r.random() < 0.7:
        while (tool := lookup(facts, numeric=True)).unit != "euros":
            pass
        key = facts.thing(tool.kind.name)
        value, what = tool.answer(key), f"the {tool.what} of {key}"
        steps.append(act(tool, tool.args(key)))
        tools.append(tool)
        question = r.choice(
            (f"What is {what} in {into}?", f"How many {into} is {what}?", f"Tell me {what} in {target}.")
        )
        said = f"{w.capital(what)} is {shown(value)} euros, which is "
    else:
        value = r.randint(5, 900)
        question = r.choice((f"How many {into} are {value} euros?", f"Convert {value} EUR to {target}."))
        said = f"{value} euros are "
    expression = f"{shown(value)} * {w.number(rate.rate('EUR', target))}"
    steps += [act(rate, rate.args("EUR", target)), act(calculator, calculator.args(expression))]
    return Scenario(
        "by_rate",
        tools,
        question,
        [*steps, Say(f"{said}{w.number(compute(expression))} {into}.")],
        no_tool_for=("*convert",),
    )
