"""Scenarios in which a tool takes a number of a thing, and people use its name: another tool tells the number."""

from __future__ import annotations

import json
import random
from typing import Any

from training.scenario import Say, Scenario, Step, act
from training.worlds import words as w
from training.worlds.devices import Calculator, compute
from training.worlds.domains import KINDS
from training.worlds.kinds import Attribute
from training.worlds.naming import a, styled
from training.worlds.questions import ask, sum_over, tell
from training.worlds.tools import Args, Facts, Lookup, parameters, shown, text_schema
from treadle import Tool, ToolError

NAMED = ("product", "company", "employee", "project", "hotel", "book", "room", "building", "ship", "course", "recipe")
WORDS = ("id", "number", "code", "key", "reference", "index")


class Numbers:
    """The number of each thing of a kind."""

    def __init__(self, facts: Facts, kind: str) -> None:
        self.facts, self.kind = facts, kind
        r = facts.r
        letters = "".join(r.sample("ABCDEFGHKLMNPRSTUVWXZ", r.choice((1, 2, 2, 3))))
        dash, digits = r.choice(("-", "", "-", "_")), r.choice((2, 3, 3, 4, 5))
        self._make = lambda: f"{letters}{dash}{r.randint(10 ** (digits - 1), 10**digits - 1)}"
        if r.random() < 0.2:
            self._make = lambda: str(r.randint(10 ** (digits - 1), 10**digits - 1))
        self._of: dict[str, str] = {}
        self.example = self._make()

    def of(self, key: str) -> str:
        if key not in self._of:
            number = self._make()
            while number in self._of.values():
                number = self._make()
            self._of[key] = number
        return self._of[key]

    def named(self, number: str) -> str | None:
        return next((key for key, own in self._of.items() if own.lower() == number.strip().lower()), None)


class Finder:
    """Tells the number of a thing by its name, alone or with other facts."""

    def __init__(self, facts: Facts, kind: str, numbers: Numbers, word: str, without: str) -> None:
        r = facts.r
        self.facts, self.kind, self.numbers, self.word = facts, KINDS[kind], numbers, word
        noun = w.snake(kind)
        self.parameter = r.choice(self.kind.parameters)
        known = [attribute for attribute in self.kind.attributes if attribute.name != without]
        self.others = r.sample(known, min(len(known), r.choice((0, 0, 1, 2))))
        names = (f"find_{noun}", f"search_{noun}", f"{noun}_{word}", f"{noun}_search", f"lookup_{noun}")
        self.name = styled(r, r.choice(names))
        also = ", ".join(other.name for other in self.others)
        self.description = r.choice(
            (
                f"Finds {a(kind)} by name and gives its {word}{' and ' + also if also else ''}.",
                f"The {word} of {a(kind)}{', its ' + also if also else ''}, by name.",
                f"Search {a(kind)} by its name. Returns {word}{', ' + also if also else ''}.",
            )
        )
        self.style = r.randrange(3)

    def args(self, key: str) -> Args:
        return {self.parameter: key}

    def call(self, **args: Any) -> str:
        name = str(args.get(self.parameter, ""))
        key = self.facts.find(self.kind.name, name)
        if key is None:
            raise ToolError(f"no {self.kind.name} named {name!r}")
        fields = {self.word: self.numbers.of(key)} | {
            w.snake(other.name): self.facts.value(self.kind.name, key, other) for other in self.others
        }
        if self.style == 0 or len(fields) > 1:
            return json.dumps(fields, ensure_ascii=False)
        return self.numbers.of(key) if self.style == 1 else f"{key}: {self.word} {self.numbers.of(key)}"

    def tool(self) -> Tool:
        return Tool(self.name, self.description, parameters({self.parameter: text_schema()}), self.call, effect="pure")


class ByNumber(Lookup):
    """A lookup that knows things by their number only."""

    def __init__(self, facts: Facts, kind: str, attribute: Attribute, numbers: Numbers, word: str) -> None:
        super().__init__(facts, KINDS[kind], attribute)
        r = facts.r
        self.numbers, self.word = numbers, word
        self.parameter = r.choice((word, f"{w.snake(kind)}_{word}"))
        hint = r.choice(
            (f"The {word} of the {kind}", f"{w.capital(word)} such as {numbers.example}", "", f"{kind} {word}")
        )
        self.schema = parameters({self.parameter: text_schema(hint)})
        if r.random() < 0.5:
            self.description = f"The {self.what} of {a(kind)}, by its {word}."

    def call(self, **args: Any) -> str:
        number = str(args.get(self.parameter, ""))
        key = self.numbers.named(number)
        if key is None:
            raise ToolError(
                self.facts.r.choice(
                    (
                        f"no {self.kind.name} with the {self.word} {number!r}",
                        f"{number!r} is not {a(self.word)}; they look like {self.numbers.example}",
                        f"unknown {self.word}: {number}",
                        f"invalid {self.parameter}",
                    )
                )
            )
        return super().call(**{self.parameter: key})


def number_first(r: random.Random, facts: Facts) -> Scenario:
    """Ask for the number by name, then for what is wanted by the number; then perhaps calculate, or the same again."""
    kind, word = r.choice(NAMED), r.choice(WORDS)
    numbers = Numbers(facts, kind)
    attribute = r.choice(KINDS[kind].attributes)
    finder, last = Finder(facts, kind, numbers, word, attribute.name), ByNumber(facts, kind, attribute, numbers, word)
    key, *more = r.sample(facts.things(kind, 4), r.choice((1, 1, 1, 2)))
    steps: list[Step] = []
    if r.random() < 0.3:  # the number was not asked for first: a mistake, shown and not learnt
        steps.append(act(last, {last.parameter: key}, trained=False))
    value = last.answer(key)
    steps += [act(finder, finder.args(key)), act(last, {last.parameter: numbers.of(key)})]
    if more and attribute.numeric:
        other = more[0]
        rival = last.answer(other)
        steps += [act(finder, finder.args(other)), act(last, {last.parameter: numbers.of(other)})]
        if r.random() < 0.5 and value != rival:
            best = key if float(value) > float(rival) else other
            question = f"Which has the higher {last.what}, {key} or {other}?"
            said = f"{best} has the higher {last.what}: {shown(max(value, rival, key=float), last.unit)}."
            return Scenario("number_first", [finder, last], question, [*steps, Say(said)])
        calculator, total = Calculator(r), f"{shown(value)} + {shown(rival)}"
        steps.append(act(calculator, calculator.args(total)))
        question = f"What is the {last.what} of {key} and {other} together?"
        said = f"Together the {last.what} of {key} and {other} is {shown(w.number(compute(total)), last.unit)}."
        return Scenario("number_first", [finder, last, calculator], question, [*steps, Say(said)])
    if attribute.numeric and r.random() < 0.35:
        calculator, task = Calculator(r), sum_over(r, value, f"the {last.what} of {key}")
        steps.append(act(calculator, calculator.args(task.expression)))
        said = task.answer + shown(w.number(compute(task.expression)), last.unit) + "."
        return Scenario("number_first", [finder, last, calculator], task.question, [*steps, Say(said)])
    return Scenario("number_first", [finder, last], ask(r, last, key), [*steps, Say(tell(r, last, key, value))])
