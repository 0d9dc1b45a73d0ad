"""How people ask, in English: for a fact, for a sum over a fact, for plain arithmetic."""

from __future__ import annotations

import random
from typing import NamedTuple

from training.worlds import words as w
from training.worlds.kinds import Value
from training.worlds.tools import Lookup, shown

COMMON = frozenset({"product", "museum piece", "plant", "field"})
"""Kinds whose things people speak of with an article. It is no part of the name: asked about a lamp, a tool is given
`lamp`."""


def spoken_of(r: random.Random, kind: str, key: str) -> str:
    """A thing as it stands in a sentence."""
    if kind not in COMMON:
        return key
    return r.choice((key, f"the {key}", f"the {key}", f"{'an' if key[0] in 'aeiou' else 'a'} {key}", f"our {key}"))


def ask(r: random.Random, lookup: Lookup, key: str) -> str:
    what, kind = lookup.what, lookup.kind.name
    it = spoken_of(r, kind, key)
    forms = [
        f"What is the {what} of {it}?",
        f"Tell me the {what} of {kind} {key}.",
        f"Can you look up the {what} for {it}?",
        f"I need the {what} of {it}, please.",
        f"{w.capital(what)} of {it}?",
        f"Please find out the {what} of {it}.",
        f"What {what} does {it} have?",
        f"Do you know the {what} of {kind} {key}?",
        f"{key}: what is the {what}?",
        f"i want to know the {what} of {it}",
        f"Could you check {it}'s {what}?",
        f"Give me {it}'s {what}.",
    ]
    spoken = {
        "price": ("How much does {k} cost?", "What would I pay for {k}?", "What does {k} cost?", "How much is {k}?"),
        "fare": ("How much is a ticket for {k}?",),
        "stock": ("How many of {k} do we have left?", "Is {k} still available?"),
        "delay": ("Is {k} late?", "How late is {k}?", "Is {k} on time?"),
        "temperature": ("How warm is it in {k}?", "Do I need a coat in {k} today?"),
        "salary": ("How much does {k} earn?",),
        "population": ("How many people live in {k}?",),
        "headcount": ("How many people work for {k}?",),
        "capacity": ("How many people fit into {k}?",),
        "weight": ("How heavy is {k}?",),
        "price per night": ("What does a night at {k} cost?",),
        "vacation balance": ("How many days off does {k} have left?",),
        "duration": ("How long does {k} take?",),
        "cooking time": ("How long do I have to cook {k}?",),
        "departure time": ("When does {k} leave?",),
        "local time": ("What time is it in {k}?", "How late is it in {k}?"),
        "height": ("How tall is {k}?",),
        "number of pages": ("How long is {k}?",),
        "founding year": ("When was {k} founded?",),
        "deadline": ("When is {k} due?",),
        "delivery date": ("When will {k} arrive?",),
        "balance": ("How much money is on {k}?",),
        "location": ("Where is {k} now?",),
        "manager": ("Who is the boss of {k}?",),
        "author": ("Who wrote {k}?",),
        "captain": ("Who commands {k}?",),
        "teacher": ("Who teaches {k}?",),
        "owner": ("Who owns {k}?",),
        "supplier": ("Who supplies {k}?", "Where do we buy {k}?"),
        "driver": ("Who drives {k}?",),
        "status": ("How is {k} going?",),
        "mileage": ("How far has {k} been driven?",),
        "rating": ("How good is {k}?",),
        "next free slot": ("When is {k} free?",),
        "fee": ("What does {k} cost?",),
    }
    forms += [form.format(k=it) for form in spoken.get(what, ())] * 3
    return r.choice(forms)


def tell(r: random.Random, lookup: Lookup, key: str, value: Value) -> str:
    text = shown(value, lookup.unit)
    return r.choice(
        (
            f"The {lookup.what} of {key} is {text}.",
            f"The {lookup.what} of {key} is {text}.",
            f"{key}: the {lookup.what} is {text}.",
        )
    )


class Sum(NamedTuple):
    question: str
    expression: str
    answer: str
    """What stands before the result."""


def sum_over(r: random.Random, value: Value, of: str) -> Sum:
    """A question about a number that has to be looked up first; `of` names it."""
    s, n, p, m = (
        w.number(value) if not isinstance(value, str) else value,
        r.randint(2, 24),
        r.choice((5, 8, 10, 12, 15, 18, 20, 25, 30, 35, 40)),
        r.randint(2, 9),
    )
    top = w.capital(of)
    return r.choice(
        (
            Sum(
                r.choice((f"What is {n} times {of}?", f"Multiply {of} by {n}.", f"How much is {of} times {n}?")),
                r.choice((f"{s} * {n}", f"{n} * {s}")),
                f"{n} times {of} is ",
            ),
            Sum(
                r.choice((f"What is {p} percent of {of}?", f"How much is {p}% of {of}?", f"I need {p} % of {of}.")),
                r.choice((f"{s} * {p} / 100", f"{s} * {p / 100:g}")),
                f"{p} percent of {of} is ",
            ),
            Sum(
                r.choice(
                    (
                        f"What would {of} be if it rose by {p} percent?",
                        f"Add {p} percent to {of}. What do you get?",
                        f"If {of} goes up by {p}%, what is it then?",
                    )
                ),
                r.choice((f"{s} * (1 + {p} / 100)", f"{s} * {1 + p / 100:g}")),
                f"With {p} percent more, {of} is ",
            ),
            Sum(
                r.choice(
                    (
                        f"What is {of} less {p} percent?",
                        f"What is left of {of} after a cut of {p} percent?",
                        f"Take {p}% off {of}: what remains?",
                    )
                ),
                r.choice((f"{s} * (1 - {p} / 100)", f"{s} * {1 - p / 100:g}")),
                f"Less {p} percent, {of} is ",
            ),
            Sum(
                r.choice(
                    (
                        f"Divide {of} by {n}.",
                        f"If {of} is shared equally by {n}, how much is it for each?",
                        f"What is {of} divided by {n}?",
                    )
                ),
                f"{s} / {n}",
                f"{top} divided by {n} is ",
            ),
            Sum(r.choice((f"What is {of} plus {n}?", f"Add {n} to {of}.")), f"{s} + {n}", f"{top} plus {n} is "),
            Sum(
                r.choice(
                    (
                        f"What is {of} minus {n}?",
                        f"Subtract {n} from {of}.",
                        f"{top}, reduced by {n}: how much is that?",
                    )
                ),
                f"{s} - {n}",
                f"{top} minus {n} is ",
            ),
            Sum(
                r.choice(
                    (f"What is {m} times {of}, plus {n}?", f"Take {of} {m} times and add {n}: what is the total?")
                ),
                f"{m} * {s} + {n}",
                f"{m} times {of} plus {n} is ",
            ),
        )
    )


def arithmetic(r: random.Random) -> Sum:
    """A sum with all its numbers given."""
    a, b, c, d = (
        w.number(r.choice((r.randint(2, 99), r.randint(100, 5000), round(r.uniform(1, 90), r.choice((1, 2))))))
        for _ in range(4)
    )
    p, n, who = r.choice((3, 4, 7, 9, 11, 12, 15, 16, 19, 22, 35, 45, 60, 75)), r.randint(2, 12), r.choice(w.FIRST)
    question, expression = r.choice(
        (
            (
                r.choice((f"What is {a} + {b} * {c}?", f"Calculate {a} + {b} * {c}.", f"{a} plus {b} times {c}?")),
                f"{a} + {b} * {c}",
            ),
            (
                r.choice(
                    (
                        f"What is ({a} + {b}) * {c}?",
                        f"Work out ({a} + {b}) * {c}.",
                        f"Add {a} and {b}, then multiply by {c}.",
                    )
                ),
                f"({a} + {b}) * {c}",
            ),
            (
                r.choice(
                    (
                        f"What is {p}% of {a}?",
                        f"How much is {p} percent of {a}?",
                        f"Give me {p} % of {a}.",
                        f"{p} percent of {a}?",
                    )
                ),
                r.choice((f"{a} * {p} / 100", f"{p} / 100 * {a}")),
            ),
            (
                r.choice(
                    (
                        f"A coat costs {a} euros and is reduced by {p} percent. What does it cost now?",
                        f"{a} euros minus {p} percent discount: what do I pay?",
                    )
                ),
                f"{a} * (1 - {p} / 100)",
            ),
            (
                r.choice((f"How much is {a} times {b}?", f"Multiply {a} by {b}.", f"{a} x {b} = ?", f"what's {a}*{b}")),
                f"{a} * {b}",
            ),
            (r.choice((f"What is {a} divided by {b}?", f"Divide {a} by {b}.", f"{a} / {b}?")), f"{a} / {b}"),
            (
                r.choice(
                    (
                        f"I have {a} litres and use {b} litres a day. How many days does it last?",
                        f"A road of {a} km at {b} km a day: how many days?",
                    )
                ),
                f"{a} / {b}",
            ),
            (
                r.choice((f"Add up {a}, {b}, {c} and {d}.", f"What is the sum of {a}, {b}, {c} and {d}?")),
                f"{a} + {b} + {c} + {d}",
            ),
            (
                f"{who} buys {n} tickets at {a} euros each and pays {b} euros for parking. What is the total?",
                f"{n} * {a} + {b}",
            ),
            (
                r.choice((f"What is the average of {a}, {b} and {c}?", f"The mean of {a}, {b} and {c}?")),
                f"({a} + {b} + {c}) / 3",
            ),
            (r.choice((f"Subtract {b} from {a}.", f"What is {a} minus {b}?", f"{a} take away {b}?")), f"{a} - {b}"),
            (f"What is {a} - {b} / {c}?", f"{a} - {b} / {c}"),
            (
                r.choice((f"With {p} percent tax on top, what do {a} euros become?", f"Add {p}% to {a}.")),
                f"{a} * (1 + {p} / 100)",
            ),
            (
                f"A bill of {a} euros with a tip of {p}% is shared by {n} people. What does each pay?",
                f"{a} * (1 + {p} / 100) / {n}",
            ),
            (f"{n} boxes hold {a} screws each, and {b} are broken. How many are good?", f"{n} * {a} - {b}"),
            (f"What is {n} to the power of {r.randint(2, 5)}?", f"{n} ** 3"),
            (f"A rectangle is {a} metres long and {b} metres wide. What is its area?", f"{a} * {b}"),
            (f"{who} earns {a} euros an hour and works {n} hours. How much is that?", f"{a} * {n}"),
        )
    )
    if "**" in expression:
        power = question.rstrip("?").rpartition(" ")[2]
        expression = f"{n} ** {power}"
    return Sum(question, expression, r.choice(("The result is ", "That makes ", f"{expression} = ", "It is ")))
