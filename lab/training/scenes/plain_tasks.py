"""Scenarios around other tools, arithmetic, conversions, actions, and without any tool."""

from __future__ import annotations

import random

from training.scenario import Leave, Say, Scenario, act
from training.worlds import words as w
from training.worlds.actions import actions
from training.worlds.devices import Calculator, Converter, Messenger, compute
from training.worlds.languages import other as other_language
from training.worlds.questions import arithmetic, ask
from training.worlds.tools import Facts, lookup


def sums(r: random.Random, facts: Facts) -> Scenario:
    calculator = Calculator(r)
    if r.random() < 0.2:
        language = other_language(r)
        a, b, p = r.randint(2, 999), r.randint(2, 99), r.choice((5, 8, 12, 15, 19, 30, 45))
        percent = r.random() < 0.5
        question = r.choice(language.percent).format(p=p, n=a) if percent else r.choice(language.times).format(a=a, b=b)
        expression = f"{a} * {p} / 100" if percent else f"{a} * {b}"
        said = r.choice(language.result).format(value=w.number(compute(expression)))
        return Scenario("sums", [calculator], question, [act(calculator, calculator.args(expression)), Say(said)])
    task = arithmetic(r)
    return Scenario(
        "sums",
        [calculator],
        task.question,
        [act(calculator, calculator.args(task.expression)), Say(f"{task.answer}{w.number(compute(task.expression))}.")],
    )


def conversion(r: random.Random, facts: Facts) -> Scenario:
    money = r.random() < 0.4
    converter, value = Converter(r, money=money), r.choice((r.randint(2, 400), round(r.uniform(1, 90), 1)))
    if money:
        source, target = r.sample(list(w.CURRENCIES), 2)
        a, b = w.CURRENCIES[source], w.CURRENCIES[target]
    else:
        source, target, _ = r.choice(w.UNITS)
        a, b = source, target
    result = w.number(converter.convert(value, source, target))
    question = r.choice(
        (
            f"How many {b} are {value} {a}?",
            f"Convert {value} {a} to {b}.",
            f"What is {value} {a} in {b}?",
            f"{value} {a} in {b}?",
            f"change {value} {a} into {b}",
        )
    )
    return Scenario(
        "conversion",
        [converter],
        question,
        [act(converter, converter.args(value, source, target)), Say(f"{value} {a} are {result} {b}.")],
    )


def message(r: random.Random, facts: Facts) -> Scenario:
    messenger = Messenger(r)
    receiver = messenger.receivers(r)
    text = r.choice(
        (
            "The delivery has arrived.",
            "I will be ten minutes late.",
            "The door code has changed.",
            "Lunch is at noon.",
            "Please call me back.",
            "The report is ready.",
            "The workshop begins on Monday.",
            "We are out of paper.",
        )
    )
    subject = r.choice(("News", "Information", "A note"))
    question = r.choice(
        (f"Write to {receiver}: {text}", f"Send {receiver} this message: {text}", f"Let {receiver} know: {text}")
    )
    if len(messenger.names) == 3:
        question = f"Mail {receiver} with the subject '{subject}': {text}"
    return Scenario(
        "message",
        [messenger],
        question,
        [act(messenger, messenger.args(receiver, text, subject)), Say(f"I sent {receiver} the message: {text}")],
    )


def missing_detail(r: random.Random, facts: Facts) -> Scenario:
    """Something has to be known before the tool can be used, and only the user knows it: ask."""
    tool, args, _, _ = r.choice([entry for entry in actions(r) if len(entry[1]) >= 2])
    asked = {
        "set_reminder": "Set a reminder, please.",
        "book_room": "Book a room for me.",
        "create_event": "Put a meeting into my calendar.",
        "transfer_money": "Transfer some money.",
        "rename_file": "Rename a file for me.",
        "open_ticket": "Open a ticket.",
    }
    question = asked.get(tool.name, f"Please {w.spoken(tool.name)} for me.")
    needed = " and ".join(w.spoken(name) for name in list(args)[:2])
    said = r.choice(
        (
            f"I need to know the {needed} first. What should they be?",
            f"Please tell me the {needed}.",
            f"Which {needed} should I use?",
        )
    )
    return Scenario("missing_detail", [tool], question, [Say(said, successful=False)])


def action(r: random.Random, facts: Facts) -> Scenario:
    tool, args, questions, said = r.choice(actions(r))
    return Scenario("action", [tool], r.choice(questions), [act(tool, args), Say(said)])


def unable(r: random.Random, facts: Facts) -> Scenario:
    """Nothing here can tell it, and it is nothing one could know."""
    tool = lookup(facts)
    key = tool.kind.keys(r)
    if tool.attribute and tool.attribute.names and r.random() < 0.25:
        language = other_language(r)
        what = tool.attribute.names[language.index]
        question = r.choice(language.ask).format(what=what, key=key)
        said = r.choice(language.unable).format(what=what, key=key)
    else:
        question = ask(r, tool, key)
        said = r.choice(
            (
                f"I cannot tell the {tool.what} of {key}: none of my tools can look that up.",
                f"None of my tools can tell the {tool.what} of {key}.",
                f"I do not know the {tool.what} of {key}, and I have no tool for it.",
            )
        )
    return Scenario("unable", [], question, [Say(said, successful=False)], no_tool_for=(tool.kind.name,))


def known_and_sum(r: random.Random, facts: Facts, known: tuple[str, str]) -> Scenario:
    """Two questions in one: the first is common knowledge, the second a sum."""
    calculator, task = Calculator(r), arithmetic(r)
    question, answer = known
    said = f"{answer} {task.answer}{w.number(compute(task.expression))}."
    return Scenario(
        "known_and_sum",
        [calculator],
        f"{question} {r.choice(('And', 'Also', 'And then'))} {task.question[0].lower() + task.question[1:]}",
        [act(calculator, calculator.args(task.expression)), Say(said)],
    )


def talk(r: random.Random, facts: Facts, question: str) -> Scenario:
    """No tool is needed. What to say is left to the base model: it is not learnt."""
    return Scenario("talk", [], question, [Leave("...")])


def mixed(r: random.Random, facts: Facts, known: tuple[str, str]) -> Scenario:
    """A conversation that turns from talk to a tool, or back."""
    said, answer = known
    work = r.choice((sums, action, conversion))(r, facts)
    if r.random() < 0.5:
        return work._replace(kind="mixed", history=[(said, [Leave(answer)])])
    return Scenario("mixed", work.tools, said, [Leave(answer)], history=[(work.question, work.script)])
