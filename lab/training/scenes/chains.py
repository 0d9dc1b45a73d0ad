"""Scenarios in which one result is needed for the next call."""

from __future__ import annotations

import random

from training.scenario import Say, Scenario, Step, WorldTool, act
from training.worlds import words as w
from training.worlds.devices import Calculator, Converter, Messenger, compute
from training.worlds.domains import KINDS, attribute_named
from training.worlds.questions import sum_over
from training.worlds.tools import Facts, Lookup, Record, lookup, shown


def fact_sum(r: random.Random, facts: Facts) -> Scenario:
    """Look a number up, calculate with it."""
    tool, calculator = lookup(facts, numeric=True), Calculator(r)
    key = facts.thing(tool.kind.name)
    value = tool.answer(key)
    task = sum_over(r, value, f"the {tool.what} of {key}")
    if tool.what in ("price", "price per night", "fare", "fee", "rent") and r.random() < 0.6:
        n = r.randint(2, 40)
        word = {"price per night": "nights at", "fare": "tickets for", "fee": "places in", "rent": "months of"}.get(
            tool.what, "pieces of the"
        )
        question = r.choice(
            (
                f"What do {n} {word} {key} cost?",
                f"How much are {n} {word} {key}?",
                f"I need {n} {word} {key}. What is the total?",
            )
        )
        if tool.kind.name == "product" and r.random() < 0.5:
            many = key if key.endswith("s") else f"{key}s"
            question = r.choice(
                (f"What do {n} {many} cost?", f"How much are {n} {many}?", f"I want to buy {n} {many}: total?")
            )
        task = task._replace(question=question, expression=f"{n} * {shown(value)}", answer=f"{n} {word} {key} cost ")
    steps = [act(tool, tool.args(key)), act(calculator, calculator.args(task.expression))]
    return Scenario(
        "fact_sum",
        [tool, calculator],
        task.question,
        [*steps, Say(task.answer + shown(w.number(compute(task.expression)), tool.unit) + ".")],
    )


def fact_converted(r: random.Random, facts: Facts) -> Scenario:
    """Look a number up, convert it."""
    while True:
        tool = lookup(facts, numeric=True)
        money = tool.unit in ("euros", "dollars")
        targets = [(source, target) for source, target, _ in w.UNITS if source == tool.unit]
        if money or targets:
            break
    key, converter = facts.thing(tool.kind.name), Converter(r, money=money)
    value = float(tool.answer(key))
    source, target = (
        ({"euros": "EUR", "dollars": "USD"}[tool.unit], r.choice([c for c in w.CURRENCIES if c not in ("EUR", "USD")]))
        if money
        else r.choice(targets)
    )
    result = w.number(converter.convert(value, source, target))
    into = w.CURRENCIES[target] if money else target
    question = r.choice(
        (
            f"What is the {tool.what} of {key} in {into}?",
            f"How many {into} is the {tool.what} of {key}?",
            f"Tell me the {tool.what} of {key}, but in {into}.",
        )
    )
    said = f"The {tool.what} of {key} is {shown(value, tool.unit)}, which is {result} {into}."
    return Scenario(
        "fact_converted",
        [tool, converter],
        question,
        [act(tool, tool.args(key)), act(converter, converter.args(value, source, target)), Say(said)],
    )


def chain(r: random.Random, facts: Facts) -> Scenario:
    """One thing leads to the next: relations, then an attribute, then perhaps a sum, perhaps a message."""
    kind = KINDS[r.choice([name for name, k in KINDS.items() if k.relations])]
    links: list[Lookup] = []
    for _ in range(r.choice((1, 1, 1, 1, 2, 2, 2, 3, 4))):
        if not kind.relations:
            break
        name, target = r.choice(kind.relations)
        if any(link.kind.name == kind.name and link.what == name for link in links):
            break
        links.append(Lookup(facts, kind, relation=(name, target)))
        kind = KINDS[target]
    last = lookup(facts, numeric=r.random() < 0.6 and any(a.numeric for a in kind.attributes), kind=kind.name)
    key = facts.thing(links[0].kind.name)
    steps: list[Step] = []
    current, phrase = key, ""
    for link in links:
        steps.append(act(link, link.args(current)))
        phrase = f"the {link.what} of {phrase or r.choice((current, f'{link.kind.name} {current}'))}"
        current = str(link.answer(current))
    value = last.answer(current)
    steps.append(act(last, last.args(current)))
    tools: list[WorldTool] = [*links, last]
    of, said = f"the {last.what} of {phrase}", f"The {last.what} of {current}, {phrase}, is {shown(value, last.unit)}."
    question = r.choice(
        (
            f"What is {of}?",
            f"Tell me {of}.",
            f"I need to know {of}.",
            f"Find {phrase} and tell me the {last.what}.",
            f"Can you find out {of}?",
        )
    )
    if last.unit and r.random() < 0.55:
        calculator, task = Calculator(r), sum_over(r, value, of)
        tools.append(calculator)
        steps.append(act(calculator, calculator.args(task.expression)))
        question, said = task.question, task.answer + shown(w.number(compute(task.expression)), last.unit) + "."
    if r.random() < 0.25:
        messenger = Messenger(r)
        receiver = messenger.receivers(r)
        tools.append(messenger)
        steps.append(act(messenger, messenger.args(receiver, said, w.capital(last.what))))
        question, said = f"{question} Send the result to {receiver}.", f"I sent it to {receiver}: {said}"
    return Scenario("chain", tools, question, [*steps, Say(said)])


def tell_someone(r: random.Random, facts: Facts) -> Scenario:
    """Look something up and send it, or look up where to send to."""
    if r.random() < 0.4:
        mail = r.random() < 0.5
        tool = Lookup(
            facts, KINDS["employee"], attribute_named("employee", "e-mail address" if mail else "phone number")
        )
        messenger, who = Messenger(r, form=2 if mail else 3), facts.thing("employee")
        to, text = (
            str(tool.answer(who)),
            r.choice(
                (
                    "The delivery has arrived.",
                    "Please call me back.",
                    "The report is ready.",
                    "The meeting is cancelled.",
                    "The keys are at the desk.",
                )
            ),
        )
        question = r.choice(
            (
                f"Look up the {tool.what} of {who} and send this there: {text}",
                f"Send {who} {'an e-mail' if mail else 'a text message'}: {text}",
                f"Write to {who}: {text} You have to find the {tool.what} first.",
            )
        )
        subject = text.rstrip(".")
        return Scenario(
            "tell_someone",
            [tool, messenger],
            question,
            [
                act(tool, tool.args(who)),
                act(messenger, messenger.args(to, text, subject)),
                Say(f"I sent {who} ({to}) the message: {text}"),
            ],
        )
    tool, messenger = lookup(facts), Messenger(r)
    key, receiver = facts.thing(tool.kind.name), messenger.receivers(r)
    text = f"The {tool.what} of {key} is {shown(tool.answer(key), tool.unit)}."
    of = f"the {tool.what} of {key}"
    question = r.choice(
        (
            f"Find out {of} and send it to {receiver}.",
            f"Tell {receiver} {of}.",
            f"Look up {of}, then write it to {receiver}.",
            f"Let {receiver} know what {of} is.",
        )
    )
    return Scenario(
        "tell_someone",
        [tool, messenger],
        question,
        [
            act(tool, tool.args(key)),
            act(messenger, messenger.args(receiver, text, w.capital(tool.what))),
            Say(f"I told {receiver}: {text}"),
        ],
    )


def through_record(r: random.Random, facts: Facts) -> Scenario:
    """A record names another thing, which is asked about next."""
    while True:
        tool = Record(facts, KINDS[r.choice([name for name, kind in KINDS.items() if kind.relations])])
        if tool.relation:
            break
    name, target = tool.relation
    key, last = facts.thing(tool.kind.name), lookup(facts, kind=target)
    other = facts.related(tool.kind.name, key, name, target)
    value = last.answer(other)
    question = r.choice(
        (
            f"What is the {last.what} of the {name} of {key}?",
            f"I need the {last.what} of {key}'s {name}.",
            f"Find the {name} of {tool.kind.name} {key} and tell me the {last.what}.",
        )
    )
    said = f"The {last.what} of {other}, the {name} of {key}, is {shown(value, last.unit)}."
    steps = [act(tool, tool.args(key)), act(last, last.args(other))]
    return Scenario("through_record", [tool, last], question, [*steps, Say(said)])


def basket(r: random.Random, facts: Facts) -> Scenario:
    """Several of one thing and several of another: two lookups and one sum."""
    kind = KINDS[r.choice(("product", "course", "flight", "hotel"))]
    attribute = next(a for a in kind.attributes if a.unit == "euros")
    tool, calculator = Lookup(facts, kind, attribute), Calculator(r)
    keys = r.sample(facts.things(kind.name, 5), r.choice((1, 2, 2, 2, 3)))
    counts = [r.randint(1, 12) for _ in keys]
    values = [shown(tool.answer(key)) for key in keys]
    listed = " and ".join(f"{n} x {key}" for n, key in zip(counts, keys, strict=True))
    terms = " + ".join(value if n == 1 else f"{n} * {value}" for n, value in zip(counts, values, strict=True))
    cut = r.choice((0, 0, 0, 10, 20, 25))
    expression = f"({terms}) * (1 - {cut} / 100)" if cut else terms
    tail = f" with {cut} percent off" if cut else ""
    question = r.choice(
        (
            f"What do {listed} cost{tail}?",
            f"I want {listed}. What is the total{tail}?",
            f"Total price of {listed}{tail}?",
        )
    )
    steps = [*(act(tool, tool.args(key)) for key in keys), act(calculator, calculator.args(expression))]
    return Scenario(
        "basket",
        [tool, calculator],
        question,
        [*steps, Say(f"{listed} cost {w.number(compute(expression))} euros{tail}.")],
    )
