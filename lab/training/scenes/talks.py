"""Conversations of several turns, words of the user in between, and long runs whose beginning is a summary."""

from __future__ import annotations

import random

from training.scenario import Act, Leave, Say, Scenario, Step, act
from training.scenes.lookups import single
from training.scenes.plans import Builder, long_task
from training.scenes.talk import KNOWN
from training.worlds import words as w
from training.worlds.devices import Calculator, Messenger, compute
from training.worlds.domains import KINDS
from training.worlds.questions import ask, tell
from training.worlds.tools import Facts, Lookup, lookup, shown


def recall(r: random.Random, facts: Facts) -> Scenario:
    """What was found before is not looked up again: the answer stands in the conversation."""
    tool = lookup(facts, numeric=True)
    one, two = facts.things(tool.kind.name, 4)[:2]
    values = {key: tool.answer(key) for key in (one, two)}
    history = [
        (ask(r, tool, key), [act(tool, tool.args(key)), Say(tell(r, tool, key, values[key]))]) for key in (one, two)
    ]
    if values[one] == values[two] or r.random() < 0.5:
        question = r.choice(
            (f"What was the {tool.what} of {one} again?", f"Remind me: {one}?", "And the first one was?")
        )
        said = f"The {tool.what} of {one} is {shown(values[one], tool.unit)}."
    else:
        high = r.random() < 0.5
        best = (max if high else min)(values, key=lambda key: float(values[key]))
        question = f"Which of the two is {'higher' if high else 'lower'}?"
        said = f"{best} has the {'higher' if high else 'lower'} {tool.what}: {shown(values[best], tool.unit)}."
    return Scenario("recall", [tool], question, [Say(said)], history=history, learn_history=r.random() < 0.3)


def about_it(r: random.Random, facts: Facts) -> Scenario:
    """The next question is about the same thing, or about what was found."""
    kind = KINDS[r.choice([name for name, k in KINDS.items() if len(k.attributes) >= 2 and k.relations])]
    key = facts.thing(kind.name)
    if r.random() < 0.5:
        one, two = r.sample(kind.attributes, 2)
        first, second = Lookup(facts, kind, one), Lookup(facts, kind, two)
        asked = key
        question = r.choice((f"And its {second.what}?", f"What about the {second.what}?", f"{w.capital(second.what)}?"))
    else:
        name, target = r.choice(kind.relations)
        first = Lookup(facts, kind, relation=(name, target))
        second = lookup(facts, kind=target)
        asked = str(first.answer(key))
        question = r.choice(
            (f"What is the {second.what} there?", f"And the {second.what} of that {target}?", f"Its {second.what}?")
        )
    if first.name == second.name:
        return about_it(r, facts)
    history = [(ask(r, first, key), [act(first, first.args(key)), Say(tell(r, first, key, first.answer(key)))])]
    steps = [act(second, second.args(asked)), Say(tell(r, second, asked, second.answer(asked)))]
    return Scenario("about_it", [first, second], question, steps, history=history, learn_history=True)


def long_talk(r: random.Random, facts: Facts) -> Scenario:
    """Several turns, with and without tools, in one conversation."""
    parts: list[tuple[str, list[Step]]] = []
    tools = []
    for _ in range(r.randint(2, 4)):
        if r.random() < 0.35:
            question, answer = r.choice(KNOWN)
            parts.append((question, [Leave(answer)]))
            continue
        made = single(r, facts)
        if {tool.name for tool in tools} & {tool.name for tool in made.tools}:
            continue
        tools += made.tools
        parts.append((made.question, list(made.script)))
    if not tools or len(parts) < 2:
        return long_talk(r, facts)
    *history, (question, script) = parts
    return Scenario("long_talk", tools, question, script, history=history, learn_history=True)


def steered_long(r: random.Random, facts: Facts) -> Scenario:
    """Words of the user in the middle of a chain: another share, or the result for somebody as well."""
    build = Builder(r, facts)
    found = build.number(r.choice((1, 2)))
    calculator = build.calculator
    p, q = r.sample((5, 10, 15, 20, 25, 30, 40), 2)
    steps: list[Step] = [*found.steps]
    if r.random() < 0.5:
        expression = f"{found.value} * {q} / 100"
        question = f"What is {p} percent of {found.phrase}?"
        steering = r.choice((f"Make that {q} percent.", f"Sorry, {q} percent, not {p}.", f"I meant {q} %."))
        steps.append(act(calculator, calculator.args(expression)))
        said = f"{q} percent of {found.phrase} is {shown(w.number(compute(expression)), found.unit)}."
        tools = [*found.tools, calculator]
    else:
        messenger = Messenger(r)
        receiver = messenger.receivers(r)
        question = f"What is {found.phrase}?"
        text = f"{w.capital(found.phrase)} is {shown(found.value, found.unit)}."
        steering = r.choice(
            (f"Send it to {receiver}, too.", f"And please let {receiver} know.", f"{receiver} needs it as well.")
        )
        steps.append(act(messenger, messenger.args(receiver, text, "Result")))
        said = f"{text} I told {receiver}."
        tools = [*found.tools, messenger]
    return Scenario(
        "steered_long",
        tools,
        question,
        [*steps, Say(said)],
        steering=steering,
        steering_after=len(found.steps) - 1 or 1,
    )


def compacted(r: random.Random, facts: Facts) -> Scenario:
    """In the middle of a long task the steps so far are replaced by a summary: it goes on from there."""
    base = long_task(r, facts)
    calls = [step for step in base.script if isinstance(step, Act)]
    after = r.randint(2, len(calls) - 1)
    told: list[str] = []
    by_name = {tool.name: tool for tool in base.tools}
    for call in calls[:after]:
        tool = by_name[call.tool]
        given = ", ".join(str(value) for value in call.args.values())
        result = shown(tool.answer(given), tool.unit) if isinstance(tool, Lookup) else _worked_out(tool, call)
        told.append(f"{tool.what if isinstance(tool, Lookup) else call.tool} of {given}: {result}")
    mark = r.choice(("; ", ". ", "\n- "))
    summary = ("- " if mark.endswith("- ") else "") + mark.join(told) + ("." if mark != "\n- " else "")
    return base._replace(kind="compacted", summary=summary, summary_after=after)


def _worked_out(tool: object, call: Act) -> str:
    if isinstance(tool, Calculator):
        return w.number(compute(str(next(iter(call.args.values())))))
    if isinstance(tool, Messenger):
        return "sent"
    value, source, target = call.args.values()
    return w.number(tool.convert(float(value), str(source), str(target)))  # type: ignore[attr-defined]
