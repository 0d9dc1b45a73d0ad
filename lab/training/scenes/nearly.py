"""Scenarios with tools that nearly fit: the same about another kind of thing, or something else about the same."""

from __future__ import annotations

import random

from training.scenario import Say, Scenario, act
from training.worlds.domains import KINDS
from training.worlds.kinds import Attribute
from training.worlds.naming import a
from training.worlds.questions import ask, tell
from training.worlds.tools import Facts, Lookup


def _near(r: random.Random, facts: Facts, wanted: Lookup, key: str) -> list[Lookup]:
    """Tools that tell something else about the same kind, or the same of another kind; none tells what is wanted."""
    topic = wanted.what.split(" ")[-1]
    same_kind = [x for x in wanted.kind.attributes if topic not in x.name and x.unit != wanted.unit]
    other_kinds = [
        (kind, attribute)
        for kind in KINDS.values()
        if kind.name != wanted.kind.name
        for attribute in kind.attributes
        if topic in attribute.name
    ]
    near = [Lookup(facts, wanted.kind, x) for x in r.sample(same_kind, min(len(same_kind), r.randint(1, 3)))]
    near += [Lookup(facts, kind, x) for kind, x in r.sample(other_kinds, min(len(other_kinds), r.randint(0, 2)))]
    names: dict[str, Lookup] = {tool.name: tool for tool in near}
    return list(names.values())


def nearly(r: random.Random, facts: Facts) -> Scenario:
    """None of them can tell it: that is said, with what they can."""
    kind = KINDS[r.choice([name for name, k in KINDS.items() if len(k.attributes) >= 3])]
    attribute: Attribute = r.choice(kind.attributes)
    wanted = Lookup(facts, kind, attribute)
    key = facts.thing(kind.name)
    tools = _near(r, facts, wanted, key)
    can = [tool.what for tool in tools if tool.kind.name == kind.name]
    said = r.choice(
        (
            f"None of my tools can tell the {wanted.what} of {key}.",
            f"I cannot tell the {wanted.what} of {key}: I have no tool for it.",
            f"I have no tool for the {wanted.what} of {a(kind.name)}."
            + (f" I can look up its {' or its '.join(can)}." if can else ""),
        )
    )
    return Scenario("nearly", tools, ask(r, wanted, key), [Say(said, successful=False)], no_tool_for=(kind.name,))


def fits_after_all(r: random.Random, facts: Facts) -> Scenario:
    """The same with one that can: what looks like the case above is not to be refused."""
    kind = KINDS[r.choice([name for name, k in KINDS.items() if len(k.attributes) >= 3])]
    wanted = Lookup(facts, kind, r.choice(kind.attributes))
    key = facts.thing(kind.name)
    tools = [tool for tool in _near(r, facts, wanted, key) if tool.name != wanted.name]
    if r.random() < 0.4:  # a description that does not name what it gives
        wanted.description = r.choice((f"Facts about {a(kind.name)}.", f"Looks something up about {a(kind.name)}.", ""))
    steps = [act(wanted, wanted.args(key)), Say(tell(r, wanted, key, wanted.answer(key)))]
    return Scenario("fits_after_all", [wanted, *tools], ask(r, wanted, key), steps)
