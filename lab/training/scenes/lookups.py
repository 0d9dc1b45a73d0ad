"""Scenarios of one lookup, or of several that do not depend on each other."""

from __future__ import annotations

import random

from training.scenario import Say, Scenario, Step, act
from training.worlds import words as w
from training.worlds.devices import Calculator, compute
from training.worlds.domains import KINDS
from training.worlds.languages import other as other_language
from training.worlds.naming import style
from training.worlds.questions import ask, sum_over, tell
from training.worlds.tools import Facts, Lookup, Record, lookup, relation, shown


def single(r: random.Random, facts: Facts) -> Scenario:
    tool = relation(facts) if r.random() < 0.25 else lookup(facts)
    key = facts.thing(tool.kind.name)
    value = tool.answer(key)
    return Scenario("single", [tool], ask(r, tool, key), [act(tool, tool.args(key)), Say(tell(r, tool, key, value))])


def foreign(r: random.Random, facts: Facts) -> Scenario:
    """Asked in another language; the answer is in that language too."""
    while True:
        tool = lookup(facts)
        if tool.attribute and tool.attribute.names:
            break
    language, key = other_language(r), facts.thing(tool.kind.name)
    what = tool.attribute.names[language.index]
    said = r.choice(language.tell).format(
        what=what,
        key=key,
        value=shown(tool.answer(key), tool.unit if not tool.unit.isalpha() or len(tool.unit) <= 3 else ""),
    )
    question = r.choice(language.ask).format(what=what, key=key)
    return Scenario("foreign", [tool], question, [act(tool, tool.args(key)), Say(w.capital(said))])


def choose(r: random.Random, facts: Facts) -> Scenario:
    """Tools that look alike: other attributes of the same kind, the same attribute of other kinds."""
    kind = KINDS[r.choice([name for name, k in KINDS.items() if len(k.attributes) >= 3])]
    tools = [
        Lookup(facts, kind, attribute)
        for attribute in r.sample(kind.attributes, min(len(kind.attributes), r.randint(3, 5)))
    ]
    tool = tools[0]
    alike = [(other, a) for other in KINDS.values() if other.name != kind.name for a in other.attributes]
    tools += [Lookup(facts, other, attribute) for other, attribute in alike if attribute.name == tool.what]
    named = style(r)
    for one in tools:  # all in one style, with distinct names
        one.name = named(f"{w.snake(one.kind.name)}_{w.snake(one.what)}")
    key = facts.thing(kind.name)
    return Scenario(
        "choose", tools, ask(r, tool, key), [act(tool, tool.args(key)), Say(tell(r, tool, key, tool.answer(key)))]
    )


def record(r: random.Random, facts: Facts) -> Scenario:
    tool = Record(facts, KINDS[r.choice(list(KINDS))])
    key, attribute = facts.thing(tool.kind.name), r.choice(tool.attributes)
    value = facts.value(tool.kind.name, key, attribute)
    question = ask(r, Lookup(facts, tool.kind, attribute), key)
    unit = "" if tool.as_json else attribute.unit
    steps: list[Step] = [act(tool, tool.args(key))]
    if attribute.numeric and r.random() < 0.35:
        calculator, task = Calculator(r), sum_over(r, value, f"the {attribute.name} of {key}")
        result = w.number(compute(task.expression))
        steps += [
            act(calculator, calculator.args(task.expression)),
            Say(task.answer + shown(result, attribute.unit) + "."),
        ]
        return Scenario("record", [tool, calculator], task.question, steps)
    steps.append(Say(f"The {attribute.name} of {key} is {shown(value, unit)}."))
    return Scenario("record", [tool], question, steps)


def compare(r: random.Random, facts: Facts) -> Scenario:
    """The same attribute of two to six things, compared or added up."""
    tool = lookup(facts, numeric=True)
    count = r.choice((2, 2, 2, 3, 3, 4, 5, 6))
    keys = (
        r.sample(facts.things(tool.kind.name, 6), count)
        if len(facts.things(tool.kind.name, 6)) >= count
        else facts.things(tool.kind.name, 2)
    )
    values = {key: tool.answer(key) for key in keys}
    steps: list[Step] = [act(tool, tool.args(key)) for key in keys]
    listed = ", ".join(keys[:-1]) + " and " + keys[-1]
    if r.random() < 0.45 and len(set(values.values())) == len(values):
        highest = r.random() < 0.5
        best = (max if highest else min)(values, key=lambda key: float(values[key]))
        word = "highest" if highest else "lowest"
        said = f"{best} has the {word} {tool.what} of the {len(keys)}: {shown(values[best], tool.unit)}."
        question = r.choice(
            (
                f"Which has the {word} {tool.what}: {listed}?",
                f"Compare {listed}: whose {tool.what} is the {word}?",
                f"Of {listed}, which one has the {word} {tool.what}?",
            )
        )
        return Scenario("compare", [tool], question, [*steps, Say(said)])
    calculator = Calculator(r)
    numbers = [shown(value) for value in values.values()]
    if count == 2 and r.random() < 0.3 and len(set(values.values())) == 2:
        best, low = max(values, key=lambda key: float(values[key])), min(values, key=lambda key: float(values[key]))
        difference = f"{shown(values[best])} - {shown(values[low])}"
        question = r.choice(
            (
                f"Which has the higher {tool.what}, {keys[0]} or {keys[1]}, and by how much?",
                f"Compare the {tool.what} of {listed}. How much higher is the higher one?",
            )
        )
        said = f"{best} has the higher {tool.what}, by {shown(w.number(compute(difference)), tool.unit)}."
        steps.append(act(calculator, calculator.args(difference)))
        return Scenario("compare", [tool, calculator], question, [*steps, Say(said)])
    if count == 2 and r.random() < 0.5:
        high, low = sorted(values.values(), key=float, reverse=True)
        question, expression, said = (
            r.choice(
                (
                    f"What is the difference between the {tool.what} of {keys[0]} and that of {keys[1]}?",
                    f"By how much do {listed} differ in {tool.what}?",
                )
            ),
            f"{shown(high)} - {shown(low)}",
            f"The {tool.what} of {listed} differs by ",
        )
    elif r.random() < 0.4:
        question, expression, said = (
            f"What is the average {tool.what} of {listed}?",
            f"({' + '.join(numbers)}) / {count}",
            f"The average {tool.what} of {listed} is ",
        )
    else:
        question, expression, said = (
            r.choice(
                (
                    f"What is the {tool.what} of {listed} together?",
                    f"Add up the {tool.what} of {listed}.",
                    f"Total {tool.what} of {listed}?",
                )
            ),
            " + ".join(numbers),
            f"Together the {tool.what} of {listed} is ",
        )
    steps.append(act(calculator, calculator.args(expression)))
    return Scenario(
        "compare",
        [tool, calculator],
        question,
        [*steps, Say(said + shown(w.number(compute(expression)), tool.unit) + ".")],
    )


def two_questions(r: random.Random, facts: Facts) -> Scenario:
    """Two things asked at once."""
    one, two = single(r, facts), single(r, facts)
    if {t.name for t in one.tools} & {t.name for t in two.tools}:
        return one
    first, second = one.script[-1], two.script[-1]
    assert isinstance(first, Say)
    assert isinstance(second, Say)
    joint = r.choice((" And: ", " Also: ", " Then: ", "\n"))
    return Scenario(
        "two_questions",
        [*one.tools, *two.tools],
        one.question + joint + two.question,
        [*one.script[:-1], *two.script[:-1], Say(f"{first.text} {second.text}")],
    )


def follow_up(r: random.Random, facts: Facts) -> Scenario:
    """A second question that is only understood from the first."""
    tool = lookup(facts)
    one, two = facts.things(tool.kind.name, 4)[:2]
    told = Say(tell(r, tool, one, tool.answer(one)))
    earlier = (ask(r, tool, one), [act(tool, tool.args(one)), told])
    question = r.choice(
        (f"And {two}?", f"What about {two}?", f"And for {two}?", f"Now {two}, please.", f"The same for {two}?")
    )
    if r.random() < 0.3 and tool.unit:
        calculator, n = Calculator(r), r.randint(2, 9)
        expression = f"{n} * {shown(tool.answer(one))}"
        said = f"{n} times that is {shown(w.number(compute(expression)), tool.unit)}."
        return Scenario(
            "follow_up",
            [tool, calculator],
            f"And {n} times that?",
            [act(calculator, calculator.args(expression)), Say(said)],
            history=[earlier],
        )
    return Scenario(
        "follow_up",
        [tool],
        question,
        [act(tool, tool.args(two)), Say(tell(r, tool, two, tool.answer(two)))],
        history=[earlier],
    )


def steered(r: random.Random, facts: Facts) -> Scenario:
    """Something said while it works: one more thing to find out, or another thing instead."""
    tool = lookup(facts)
    one, two = facts.things(tool.kind.name, 4)[:2]
    first = act(tool, tool.args(one))
    second = act(tool, tool.args(two))
    if r.random() < 0.5:
        said = f"{tell(r, tool, one, tool.answer(one))} {tell(r, tool, two, tool.answer(two))}"
        return Scenario(
            "steered",
            [tool],
            ask(r, tool, one),
            [first, second, Say(said)],
            steering=r.choice((f"Also for {two}.", f"And tell me the same of {two}.", f"{two} too, please.")),
        )
    said = tell(r, tool, two, tool.answer(two))
    return Scenario(
        "steered",
        [tool],
        ask(r, tool, one),
        [first, second, Say(said)],
        steering=r.choice(
            (f"Sorry, I meant {two}, not {one}.", f"Forget {one}, I need {two}.", f"Wrong name: it is {two}.")
        ),
    )
