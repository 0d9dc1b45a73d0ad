"""Scenarios in which a call fails or gives nothing, and another way leads on, or none does and that is said."""

from __future__ import annotations

import json
import random
from typing import Any

from training.scenario import Act, Say, Scenario, Step, act
from training.scenes.ids import NAMED, WORDS, ByNumber, Finder, Numbers
from training.worlds import words as w
from training.worlds.devices import Calculator, compute
from training.worlds.domains import KINDS
from training.worlds.formats import some
from training.worlds.naming import styled
from training.worlds.questions import ask, tell
from training.worlds.tools import Facts, Lookup, lookup, parameters, shown, text_schema
from treadle import Tool, ToolError


def old_number(r: random.Random, facts: Facts) -> Scenario:
    """The number that the user has is not valid; the name is known, and another tool finds the right number by it."""
    kind, word = r.choice(NAMED), r.choice(WORDS)
    numbers = Numbers(facts, kind)
    attribute = r.choice(KINDS[kind].attributes)
    finder, last = Finder(facts, kind, numbers, word, attribute.name), ByNumber(facts, kind, attribute, numbers, word)
    key = facts.thing(kind)
    right, wrong = numbers.of(key), numbers.example
    if wrong == right or numbers.named(wrong):
        return old_number(r, facts)
    value = last.answer(key)
    question = r.choice(
        (
            f"What is the {last.what} of {key}, {word} {wrong}?",
            f"Look up the {last.what} for {word} {wrong} ({key}).",
            f"{word} {wrong}, that is {key}: what is the {last.what}?",
        )
    )
    steps: list[Step] = [
        act(last, {last.parameter: wrong}),
        act(finder, finder.args(key)),
        act(last, {last.parameter: right}),
        Say(tell(r, last, key, value)),
    ]
    return Scenario("old_number", [finder, last], question, steps)


NOTHING = (
    "[]",
    "no results",
    "{}",
    "null",
    "0 rows",
    "No entries.",
    '{"items": [], "total": 0}',
    "nothing on file",
    "none",
)


def second_source(r: random.Random, facts: Facts) -> Scenario:
    """Two tools may know it. The first has nothing; the second is asked before one gives up."""
    tool = lookup(facts)
    key = facts.thing(tool.kind.name)
    noun = w.snake(tool.kind.name)
    pair = r.choice(
        (("current", "archive"), ("local", "central"), ("own", "partner"), ("new", "old"), ("cached", "live"))
    )
    empty = r.choice(NOTHING)
    first = Tool(
        styled(r, f"{pair[0]}_{noun}_{w.snake(tool.what)}"),
        f"The {tool.what} of {tool.kind.name}s in the {pair[0]} records.",
        tool.schema,
        lambda **_: empty,
        effect="pure",
    )
    tool.name = styled(r, f"{pair[1]}_{noun}_{w.snake(tool.what)}")
    tool.description = f"The {tool.what} of {tool.kind.name}s in the {pair[1]} records."
    if first.name == tool.name:
        return second_source(r, facts)
    steps: list[Step] = [act(first, tool.args(key)), act(tool, tool.args(key))]
    if r.random() < 0.2:  # neither has anything
        tool.call = lambda **_: r.choice(NOTHING)  # type: ignore[method-assign]
        said = Say(f"Neither the {pair[0]} nor the {pair[1]} records have the {tool.what} of {key}.", successful=False)
        return Scenario(
            "second_source", [first, tool], ask(r, tool, key), [*steps, said], no_tool_for=(tool.kind.name,)
        )
    said = Say(tell(r, tool, key, tool.answer(key)))
    return Scenario("second_source", [first, tool], ask(r, tool, key), [*steps, said], no_tool_for=(tool.kind.name,))


def moved(r: random.Random, facts: Facts) -> Scenario:
    """The tool is not to be used any more, and its error names the one that is."""
    tool = lookup(facts)
    key = facts.thing(tool.kind.name)
    old = Tool(f"{tool.name}_v1"[:64], tool.description, tool.schema, lambda **_: _fail(text), effect="pure")
    tool.name = f"{tool.name}_v2"[:64]
    text = r.choice(
        (
            f"this endpoint is switched off: use {tool.name}",
            f"410 Gone, replaced by {tool.name}",
            f"deprecated. Call {tool.name} instead.",
            f"{old.name} is no longer available; see {tool.name}",
        )
    )
    steps: list[Step] = [act(old, tool.args(key)), act(tool, tool.args(key)), Say(tell(r, tool, key, tool.answer(key)))]
    return Scenario("moved", [old, tool], ask(r, tool, key), steps, no_tool_for=(tool.kind.name,))


def _fail(text: str) -> str:
    raise ToolError(text)


DENIED = (
    "permission denied",
    "403 Forbidden: you may not read {what}",
    "access denied for this account",
    "not authorised to see {what}",
    "this information is confidential; your role does not allow it",
    "401: the key has no right to {what}",
)


def denied(r: random.Random, facts: Facts) -> Scenario:
    """No right to see it: that is said, and no other way is tried."""
    tool = lookup(facts)
    key = facts.thing(tool.kind.name)
    text = r.choice(DENIED).format(what=tool.what)
    tool.call = lambda **_: _fail(text)  # type: ignore[method-assign]
    said = r.choice(
        (
            f"I may not see the {tool.what} of {key}: access was denied.",
            f"I could not get the {tool.what} of {key}, because I have no permission for it.",
            f"Access to the {tool.what} of {key} was refused, so I cannot tell it.",
        )
    )
    steps: list[Step] = [act(tool, tool.args(key)), Say(said, successful=False)]
    return Scenario("denied", [tool], ask(r, tool, key), steps, no_tool_for=(tool.kind.name,))


def still_down(r: random.Random, facts: Facts) -> Scenario:
    """It fails, it fails again: then that is what is told."""
    tool = lookup(facts)
    key = facts.thing(tool.kind.name)
    texts = r.sample(
        ("timed out after 10 s", "503 Service Unavailable", "connection refused", "gateway error, try later"), 2
    )
    left = list(texts)
    tool.call = lambda **_: _fail(left.pop() if left else texts[0])  # type: ignore[method-assign]
    said = r.choice(
        (
            f"I could not get the {tool.what} of {key}: the service did not answer, twice.",
            f"The tool failed again, so I do not know the {tool.what} of {key}. Please try later.",
        )
    )
    call = act(tool, tool.args(key))
    return Scenario(
        "still_down",
        [tool],
        ask(r, tool, key),
        [call, call, Say(said, successful=False)],
        no_tool_for=(tool.kind.name,),
    )


def signed_in(r: random.Random, facts: Facts) -> Scenario:
    """Something has to be done first, as the error says."""
    tool = lookup(facts)
    key, ready = facts.thing(tool.kind.name), list[bool]()
    plain = tool.call
    names, what, text = r.choice(
        (
            (("sign_in", "login", "open_session"), "Opens a session.", "no session: {n} first"),
            (("refresh_token", "renew_access"), "Renews the access.", "access has expired, call {n}"),
            (("select_database", "use_database"), "Chooses the database to work with.", "no database chosen ({n})"),
            (("wake_device", "power_on"), "Wakes the device.", "device asleep; use {n}"),
        )
    )
    opener = Tool(
        styled(r, r.choice(names)), what, parameters({}), lambda: (ready.append(True), "ok")[1], effect="idempotent"
    )

    def guarded(**args: Any) -> str:
        return plain(**args) if ready else _fail(text.format(n=opener.name))

    tool.call = guarded  # type: ignore[method-assign]
    call = act(tool, tool.args(key))
    steps: list[Step] = [call, Act(opener.name, {}), call, Say(tell(r, tool, key, tool.answer(key)))]
    return Scenario("signed_in", [opener, tool], ask(r, tool, key), steps, no_tool_for=(tool.kind.name,))


def pages(r: random.Random, facts: Facts) -> Scenario:
    """A list that comes in parts: the rest is fetched before it is counted, added up or compared."""
    kind = KINDS[r.choice([name for name, k in KINDS.items() if any(a.numeric for a in k.attributes)])]
    attribute = r.choice([a for a in kind.attributes if a.numeric])
    keys = facts.things(kind.name, r.randint(4, 7))
    rows = [{w.snake(kind.name): key, w.snake(attribute.name): facts.value(kind.name, key, attribute)} for key in keys]
    size, form = r.randint(2, 3), some(r)
    parts = [rows[i : i + size] for i in range(0, len(rows), size)]

    def call(page: int = 1) -> str:
        if not 1 <= page <= len(parts):
            raise ToolError(f"there are only {len(parts)} pages")
        tail = (
            f"page {page} of {len(parts)}" if r.random() < 0.5 else f"({len(rows)} in all, page {page} of {len(parts)})"
        )
        return f"{form(parts[page - 1])}\n{tail}"

    name = styled(
        r, r.choice((f"list_{w.snake(kind.name)}s", f"all_{w.snake(kind.name)}s", f"{w.snake(kind.name)}_list"))
    )
    schema = parameters({"page": {"type": "integer", "description": "from 1"}}, ())
    tool, calculator = Tool(name, f"Lists the {kind.name}s with their {attribute.name}.", schema, call), Calculator(r)
    steps: list[Step] = [Act(tool.name, {} if n == 1 else {"page": n}) for n in range(1, len(parts) + 1)]
    values = [row[w.snake(attribute.name)] for row in rows]
    if r.random() < 0.4 or len(set(values)) < len(values):
        expression = " + ".join(map(shown, values))
        question = r.choice(
            (f"Add up the {attribute.name} of all {kind.name}s.", f"Total {attribute.name} of all {kind.name}s?")
        )
        total = shown(w.number(compute(expression)), attribute.unit)
        steps += [act(calculator, calculator.args(expression)), Say(f"The total {attribute.name} is {total}.")]
        return Scenario("pages", [tool, calculator], question, steps, no_tool_for=(kind.name,))
    high = r.random() < 0.5
    best = (max if high else min)(rows, key=lambda row: float(row[w.snake(attribute.name)]))
    word = "highest" if high else "lowest"
    question = f"Which {kind.name} has the {word} {attribute.name}?"
    value = shown(best[w.snake(attribute.name)], attribute.unit)
    said = f"{best[w.snake(kind.name)]} has the {word} {attribute.name}: {value}."
    return Scenario("pages", [tool], question, [*steps, Say(said)], no_tool_for=(kind.name,))


def wrong_form(r: random.Random, facts: Facts) -> Scenario:
    """A value in a form that the tool does not take; the error says which it takes."""
    day = f"{r.randint(2024, 2027)}-{r.randint(1, 12):02d}-{r.randint(13, 28)}"
    year, month, date = day.split("-")
    given = r.choice((f"{date}.{month}.{year}", f"{month}/{date}/{year}", f"{date}-{month}-{year}"))
    what = r.choice(("bookings", "arrivals", "deliveries", "shifts", "visitors", "alarms"))
    number = r.randint(2, 400)

    def call(**args: str) -> str:
        if args[name] != day:
            raise ToolError(rule)
        return r.choice((str(number), json.dumps({what: number}), f"{number} {what}"))

    name = r.choice(("date", "day", "on", "when"))
    rule = r.choice(
        (f"{name} has to be YYYY-MM-DD", f"cannot parse {given!r}, expected ISO 8601", "invalid date; use 2025-01-31")
    )
    tool = Tool(
        styled(r, r.choice((f"count_{what}", f"{what}_on", f"get_{what}"))),
        f"How many {what} there are on a day.",
        parameters({name: text_schema()}),
        call,
        effect="pure",
    )
    question = r.choice(
        (f"How many {what} are there on {given}?", f"Number of {what} on {given}?", f"{given}: how many {what}?")
    )
    steps: list[Step] = [
        Act(tool.name, {name: given}, trained=False),
        Act(tool.name, {name: day}),
        Say(f"There are {number} {what} on {day}."),
    ]
    return Scenario("wrong_form", [tool], question, steps)


def two_meant(r: random.Random, facts: Facts) -> Scenario:
    """More than one thing fits the name: the user is asked, or has said enough to tell which."""
    tool = lookup(facts, kind="employee")
    last = r.choice(w.LAST)
    one, two = (f"{first} {last}" for first in r.sample(w.FIRST, 2))
    city = r.sample(w.CITIES, 2)

    def call(**args: Any) -> str:
        given = str(args[tool.parameter]).strip().lower()
        if given in (one.lower(), two.lower()):
            return Lookup.call(tool, **args)
        raise ToolError(f"{last} is not unique: {one} ({city[0]}), {two} ({city[1]})")

    facts._note("employee", one)
    facts._note("employee", two)
    tool.call = call  # type: ignore[method-assign]
    first = act(tool, tool.args(last))
    if r.random() < 0.5:
        question = ask(r, tool, last)
        said = r.choice((f"Which {last} do you mean: {one} or {two}?", f"There are two: {one} and {two}. Which one?"))
        return Scenario("two_meant", [tool], question, [first, Say(said, successful=False)], no_tool_for=("employee",))
    question = f"{ask(r, tool, last).rstrip('.?')}, the one in {city[1]}?"
    steps = [first, act(tool, tool.args(two)), Say(tell(r, tool, two, tool.answer(two)))]
    return Scenario("two_meant", [tool], question, steps, no_tool_for=("employee",))
