"""Tasks of four to eight steps: what is asked is a tree of lookups, sums and conversions, worked through from below.

Values found early are needed late: both sides of a difference, a name to write to, a first number beside the last.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from training.scenario import Say, Scenario, Step, WorldTool, act
from training.worlds import words as w
from training.worlds.devices import Calculator, Converter, Messenger, compute
from training.worlds.domains import KINDS
from training.worlds.tools import Facts, Lookup, lookup, shown


class Found(NamedTuple):
    """A number that has been worked out: how it is spoken of, its value and unit, and the steps that gave it."""

    phrase: str
    value: str
    unit: str
    steps: list[Step]
    tools: list[WorldTool]


class Builder:
    """Makes parts of one task. A tool that tells the same is made once."""

    def __init__(self, r: random.Random, facts: Facts) -> None:
        self.r, self.facts = r, facts
        self.calculator = Calculator(r)
        self._lookups: dict[tuple[str, str], Lookup] = {}

    def lookup(self, kind: str, attribute: Any = None, relation: tuple[str, str] | None = None) -> Lookup:
        name = attribute.name if attribute else relation[0] if relation else ""
        if (kind, name) not in self._lookups:
            made = Lookup(self.facts, KINDS[kind], attribute, relation)
            while any(made.name == other.name for other in self._lookups.values()):
                made = Lookup(self.facts, KINDS[kind], attribute, relation)
            self._lookups[kind, name] = made
        return self._lookups[kind, name]

    def number(self, links: int, unit: str = "") -> Found:
        """An attribute of what a number of relations lead to; in a given unit, if one is given."""
        r, tries = self.r, 0
        while True:
            tries += 1
            if tries > 60:  # no such path leads to that unit
                links = 0
            kind = KINDS[r.choice(list(KINDS))]
            path: list[Lookup] = []
            start = kind
            for _ in range(links):
                if not kind.relations:
                    break
                name, target = r.choice(kind.relations)
                if any(one.kind.name == kind.name and one.what == name for one in path):
                    break
                path.append(self.lookup(kind.name, relation=(name, target)))
                kind = KINDS[target]
            fitting = [a for a in kind.attributes if a.numeric and (not unit or a.unit == unit)]
            if len(path) == links and fitting:
                break
        key = self.facts.thing(start.name)
        steps: list[Step] = []
        current, phrase = key, key
        for link in path:
            steps.append(act(link, link.args(current)))
            phrase = f"the {link.what} of {phrase}"
            current = str(link.answer(current))
        last = self.lookup(kind.name, attribute=r.choice(fitting))
        steps.append(act(last, last.args(current)))
        value = shown(last.answer(current))
        return Found(f"the {last.what} of {phrase}", value, last.unit, steps, [*path, last])

    def two(self, links: tuple[int, int]) -> Found:
        """The sum or the difference of two numbers of the same unit."""
        one = self.number(links[0])
        other = self.number(links[1], one.unit)
        while other.phrase == one.phrase:
            other = self.number(links[1], one.unit)
        high, low = sorted((one, other), key=lambda found: float(found.value), reverse=True)
        if self.r.random() < 0.5:
            phrase, expression = f"the sum of {one.phrase} and {other.phrase}", f"{one.value} + {other.value}"
        else:
            phrase = f"the difference between {one.phrase} and {other.phrase}"
            expression = f"{high.value} - {low.value}"
        steps = [*one.steps, *other.steps, act(self.calculator, self.calculator.args(expression))]
        tools = list(dict.fromkeys([*one.tools, *other.tools, self.calculator]))
        return Found(phrase, w.number(compute(expression)), one.unit, steps, tools)

    def share(self, found: Found) -> Found:
        """A percentage or a multiple of it."""
        r = self.r
        n, p = r.randint(2, 12), r.choice((5, 8, 12, 15, 20, 25, 40, 75))
        phrase, expression = r.choice(
            (
                (f"{p} percent of {found.phrase}", f"{found.value} * {p} / 100"),
                (f"{n} times {found.phrase}", f"{n} * {found.value}"),
                (
                    f"one {n}th of {found.phrase}" if n > 3 else f"half of {found.phrase}",
                    f"{found.value} / {n if n > 3 else 2}",
                ),
            )
        )
        return Found(
            phrase,
            w.number(compute(expression)),
            found.unit,
            [*found.steps, act(self.calculator, self.calculator.args(expression))],
            list(dict.fromkeys([*found.tools, self.calculator])),
        )

    def converted(self, found: Found) -> Found | None:
        money = {"euros": "EUR", "dollars": "USD"}.get(found.unit)
        targets = [(source, target) for source, target, _ in w.UNITS if source == found.unit]
        if not money and not targets:
            return None
        converter = Converter(self.r, money=bool(money))
        if money:
            source, target = money, self.r.choice([code for code in w.CURRENCIES if code not in ("EUR", "USD")])
        else:
            source, target = self.r.choice(targets)
        into = w.CURRENCIES[target] if money else target
        value = float(found.value) if "." in found.value else int(found.value)
        result = w.number(converter.convert(float(value), source, target))
        steps = [*found.steps, act(converter, converter.args(value, source, target))]
        return Found(f"{found.phrase} in {into}", result, into, steps, [*found.tools, converter])


def long_task(r: random.Random, facts: Facts) -> Scenario:
    """Four to eight calls."""
    while True:
        build = Builder(r, facts)
        shape = r.randrange(5)
        if shape == 0:
            found = build.two((r.choice((1, 2)), r.choice((0, 1, 2))))
        elif shape == 1:
            found = build.share(build.two((r.choice((0, 1)), 1)))
        elif shape == 2:
            found = build.number(r.choice((2, 3)))
            found = build.converted(found) or build.share(found)
        elif shape == 3:
            found = build.share(build.number(r.choice((2, 3, 4))))
        else:
            found = build.two((1, 1))
            found = build.converted(found) or found
        task = _asked(r, found)
        if r.random() < 0.35:
            task = _sent(r, build, found)
        calls = len(task.script) - 1
        if 4 <= calls <= 8:
            return task


def _asked(r: random.Random, found: Found) -> Scenario:
    question = r.choice(
        (
            f"What is {found.phrase}?",
            f"Please work out {found.phrase}.",
            f"I need {found.phrase}.",
            f"Can you find out {found.phrase}?",
            f"How much is {found.phrase}?",
            f"{w.capital(found.phrase)}, please.",
        )
    )
    said = f"{w.capital(found.phrase)} is {_with_unit(found)}."
    return Scenario("long_task", found.tools, question, [*found.steps, Say(said)], no_tool_for=("*convert",))


def _with_unit(found: Found) -> str:
    return found.value if found.phrase.endswith(f" in {found.unit}") else f"{found.value} {found.unit}"


def _sent(r: random.Random, build: Builder, found: Found) -> Scenario:
    """The result goes to somebody who has to be found first, too."""
    kinds = [name for name, kind in KINDS.items() if any(target == "employee" for _, target in kind.relations)]
    kind = KINDS[r.choice(kinds)]
    relation = r.choice([one for one in kind.relations if one[1] == "employee"])
    finder, messenger = build.lookup(kind.name, relation=relation), Messenger(r, form=r.choice((0, 4)))
    key = build.facts.thing(kind.name)
    who = str(finder.answer(key))
    text = f"{w.capital(found.phrase)} is {_with_unit(found)}."
    steps: list[Step] = [
        *found.steps,
        act(finder, finder.args(key)),
        act(messenger, messenger.args(who, text, "Result")),
        Say(f"I told {who}, the {relation[0]} of {key}: {text}"),
    ]
    question = r.choice(
        (
            f"Work out {found.phrase} and send it to the {relation[0]} of {key}.",
            f"The {relation[0]} of {key} wants to know {found.phrase}. Please find out and write to them.",
            f"Find {found.phrase}, then let the {relation[0]} of {key} know.",
        )
    )
    tools = list(dict.fromkeys([*found.tools, finder, messenger]))
    return Scenario("long_task", tools, question, steps, no_tool_for=("*convert",))


def carried(r: random.Random, facts: Facts) -> Scenario:
    """Something from the first result is needed at the end, after other steps: the name, the number, both."""
    build = Builder(r, facts)
    one = build.number(1)
    first = one.tools[0]
    assert isinstance(first, Lookup)
    name = str(first.answer(str(next(iter(one.steps[0].args.values())))))  # type: ignore[union-attr]
    share = build.share(one)
    messenger = Messenger(r, form=r.choice((0, 1, 4)))
    receiver = messenger.receivers(r)
    text = f"{name}: {one.value} {one.unit}, and {share.phrase.replace(one.phrase, 'of it')} {share.value} {one.unit}."
    text = text.replace("of of it", "of it").replace("times of it", "times that")
    question = r.choice(
        (
            f"Find {first_phrase(one)} and its {last_name(one)}, work out {share.phrase}, and send name, "
            f"{last_name(one)} and result to {receiver}.",
            f"Tell {receiver} who or what {first_phrase(one)} is, its {last_name(one)}, and {share.phrase}.",
        )
    )
    steps = [*share.steps, act(messenger, messenger.args(receiver, text, "Result"))]
    return Scenario("carried", [*share.tools, messenger], question, [*steps, Say(f"I told {receiver}: {text}")])


def first_phrase(found: Found) -> str:
    return found.phrase.partition(" of ")[2]


def last_name(found: Found) -> str:
    return found.phrase.removeprefix("the ").partition(" of ")[0]


def best_of(r: random.Random, facts: Facts) -> Scenario:
    """The best of several by one tool, then something else about it: which one is known only at the end."""
    rated, kind = lookup(facts, numeric=True), None
    while kind is None:
        if len(rated.kind.attributes) + len(rated.kind.relations) > 1:
            kind = rated.kind
        else:
            rated = lookup(facts, numeric=True)
    others = [Lookup(facts, kind, attribute) for attribute in kind.attributes if attribute.name != rated.what]
    others += [Lookup(facts, kind, relation=relation) for relation in kind.relations]
    other = r.choice(others)
    while other.name == rated.name:
        other = Lookup(facts, kind, other.attribute, other.relation)
    keys = r.sample(facts.things(kind.name, 5), r.choice((2, 3, 3, 4)))
    values = {key: float(rated.answer(key)) for key in keys}
    if len(set(values.values())) < len(values):
        return best_of(r, facts)
    high = r.random() < 0.5
    best = (max if high else min)(values, key=lambda key: values[key])
    word = "highest" if high else "lowest"
    listed = ", ".join(keys[:-1]) + " and " + keys[-1]
    question = r.choice(
        (
            f"Which of {listed} has the {word} {rated.what}, and what is its {other.what}?",
            f"Find the one with the {word} {rated.what} among {listed} and tell me its {other.what}.",
            f"I want the {other.what} of whichever has the {word} {rated.what}: {listed}?",
        )
    )
    said = (
        f"{best} has the {word} {rated.what} ({shown(rated.answer(best), rated.unit)}); "
        f"its {other.what} is {shown(other.answer(best), other.unit)}."
    )
    steps: list[Step] = [act(rated, rated.args(key)) for key in keys]
    return Scenario("best_of", [rated, other], question, [*steps, act(other, other.args(best)), Say(said)])
