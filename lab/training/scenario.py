"""One conversation to learn from: tools, what is asked, and what a perfect model does."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from training.worlds.devices import Calculator, Converter, Messenger
from training.worlds.domains import KINDS
from training.worlds.tools import Facts, Lookup, Record, lookup, relation
from treadle import Tool

WorldTool = Lookup | Record | Calculator | Converter | Messenger | Tool


class Act(NamedTuple):
    """A call of a tool."""

    tool: str
    args: dict[str, Any]
    trained: bool = True
    """Whether to learn it. Mistakes that are to be recovered from are shown, not learnt."""


class Say(NamedTuple):
    """The final answer."""

    text: str
    successful: bool = True
    trained: bool = True


class Leave(NamedTuple):
    """No tool is needed: the base model answers in its own words, which are given here and not learnt."""

    text: str
    trained: bool = True


Step = Act | Say | Leave


class Named(Protocol):
    @property
    def name(self) -> str: ...


def act(tool: Named, args: dict[str, Any], trained: bool = True) -> Act:
    return Act(tool.name, args, trained)


class Scenario(NamedTuple):
    kind: str
    tools: Sequence[WorldTool]
    question: str
    script: Sequence[Step]
    history: Sequence[tuple[str, Sequence[Step]]] = ()
    """Earlier questions of the conversation with what was done."""
    learn_history: bool = False
    """Whether what was done then is learnt, too."""
    steering: str = ""
    """Said by the user while it works."""
    steering_after: int = 1
    """After which step of the script."""
    summary: str = ""
    """What takes the place of the steps so far, as in a long run."""
    summary_after: int = 0
    no_tool_for: tuple[str, ...] = ()
    """Kinds of things no other tool may know anything about."""
    fill: bool = True
    """Whether other tools may be put beside these."""


def deal(r: random.Random, make: Callable[[Facts], Scenario]) -> tuple[Facts, Scenario]:
    """A scenario and the facts it is about. Names are dealt by chance: where two of its tools got the same, again."""
    while True:
        facts = Facts(r)
        scenario = make(facts)
        if len({tool.name for tool in scenario.tools}) == len(scenario.tools):
            return facts, scenario


def distractors(r: random.Random, facts: Facts, scenario: Scenario, count: int) -> list[WorldTool]:
    """The scenario's tools among others, `count` in all, none of which could do the same."""
    tools = list(scenario.tools)
    if not scenario.fill:
        return tools
    tries = 0
    while len(tools) < count and tries < 400:
        tries += 1
        other = _other(r, facts)
        if not any(_same_use(other, tool) for tool in tools) and not _forbidden(other, scenario.no_tool_for):
            tools.append(other)
    r.shuffle(tools)
    return tools


def _other(r: random.Random, facts: Facts) -> WorldTool:
    kind = r.random()
    if kind < 0.5:
        return lookup(facts)
    if kind < 0.65:
        return relation(facts)
    if kind < 0.75:
        return Record(facts, KINDS[r.choice(list(KINDS))])
    if kind < 0.82:
        return Calculator(r)
    if kind < 0.92:
        return Converter(r, money=r.random() < 0.5)
    return Messenger(r)


def _same_use(one: WorldTool, other: WorldTool) -> bool:
    if one.name == other.name:
        return True
    if isinstance(other, Tool):  # one of the product's own
        return isinstance(one, Calculator) and other.name == "calculator"
    if isinstance(one, (Lookup, Record)) and isinstance(other, (Lookup, Record)):
        return one.kind.name == other.kind.name and bool(_topics(one) & _topics(other))
    if isinstance(one, Converter) and isinstance(other, Converter):
        return one.money == other.money
    if isinstance(one, Messenger) and isinstance(other, Messenger):
        return True
    return type(one) is type(other)


def _topics(tool: Lookup | Record) -> set[str]:
    if isinstance(tool, Lookup):
        return {tool.what}
    return {attribute.name for attribute in tool.attributes} | ({tool.relation[0]} if tool.relation else set())


def _forbidden(tool: WorldTool, kinds: Sequence[str]) -> bool:
    if "*convert" in kinds and isinstance(tool, Converter):
        return True
    if "*calculate" in kinds and isinstance(tool, Calculator):
        return True
    return isinstance(tool, (Lookup, Record)) and tool.kind.name in kinds
