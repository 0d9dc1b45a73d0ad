"""The tools of a made-up world. Each is a real Treadle tool over facts that only this world has."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

from training.worlds import words as w
from training.worlds.domains import KINDS
from training.worlds.formats import one
from training.worlds.kinds import Attribute, Kind, Value
from training.worlds.naming import a, styled
from treadle import Tool, ToolError

Args = dict[str, Any]


def shown(value: Value, unit: str = "") -> str:
    text = w.number(value) if not isinstance(value, str) else value
    return f"{text} {unit}" if unit else text


def text_schema(description: str = "", **more: Any) -> Args:
    return {"type": "string", **({"description": description} if description else {}), **more}


def parameters(properties: Mapping[str, Args], required: tuple[str, ...] | None = None) -> Args:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties if required is None else required),
    }


class Facts:
    """What a world knows: a value for each attribute and relation of each thing, made when first asked for."""

    def __init__(self, r: random.Random) -> None:
        self.r = r
        self._things: dict[str, list[str]] = {}
        self._values: dict[tuple[str, str, str], Value] = {}

    def things(self, kind: str, count: int) -> list[str]:
        known = self._things.setdefault(kind, [])
        while len(known) < count:
            name = KINDS[kind].keys(self.r)
            if name.lower() not in {other.lower() for other in known}:
                known.append(name)
        return known[:count]

    def thing(self, kind: str) -> str:
        return self.r.choice(self.things(kind, 4))

    def find(self, kind: str, name: str) -> str | None:
        return next((known for known in self._things.get(kind, ()) if known.lower() == name.strip().lower()), None)

    def value(self, kind: str, key: str, attribute: Attribute) -> Value:
        self._note(kind, key)
        return self._values.setdefault((kind, key, attribute.name), attribute.values(self.r))

    def related(self, kind: str, key: str, relation: str, target: str) -> str:
        self._note(kind, key)
        choices = [name for name in self.things(target, 4) if name != key]
        return str(self._values.setdefault((kind, key, relation), self.r.choice(choices)))

    def _note(self, kind: str, key: str) -> None:
        if key not in self._things.setdefault(kind, []):
            self._things[kind].append(key)


def example(facts: Facts, kind: Kind) -> str:
    """For a description. Often it is a thing that there is: whoever takes it for the value gets no error, but an answer
    about something else."""
    r = facts.r
    key = facts.thing(kind.name) if r.random() < 0.6 else kind.keys(r)
    return r.choice((f"for example {key}", f'such as "{key}"', f"e.g. {key}", f"like {key}"))


class Lookup:
    """A tool that tells one attribute or one relation of a thing."""

    def __init__(
        self, facts: Facts, kind: Kind, attribute: Attribute | None = None, relation: tuple[str, str] | None = None
    ):
        r = facts.r
        self.facts, self.kind, self.attribute, self.relation = facts, kind, attribute, relation
        self.what = attribute.name if attribute else relation[0] if relation else ""
        self.unit = attribute.unit if attribute else ""
        self.parameter = r.choice(kind.parameters)
        self.style = r.randrange(5)
        noun, topic = w.snake(kind.name), w.snake(self.what)
        name = r.choice(
            (
                f"get_{noun}_{topic}",
                f"{noun}_{topic}",
                f"{topic}_of_{noun}",
                f"lookup_{topic}",
                f"get_{topic}",
                f"find_{noun}_{topic}",
                f"fetch_{topic}",
                f"{topic}_lookup",
                f"query_{noun}_{topic}",
                f"{noun}-{topic}",
            )
        )
        self.name = styled(r, name)
        in_unit = f" in {self.unit}" if self.unit else ""
        self.description = r.choice(
            (
                f"Returns the {self.what} of {a(kind.name)}{in_unit}.",
                f"Look up the {self.what} of {a(kind.name)}{in_unit}.",
                f"Gives the {self.what}{in_unit} for one {kind.name}.",
                f"The {self.what} of the given {kind.name}{in_unit}.",
                f"Find out the {self.what} of {a(kind.name)}{in_unit} by its {w.spoken(self.parameter)}.",
                f"{w.capital(self.what)} of {a(kind.name)}.",
            )
        )
        hint = r.choice(
            (
                "",
                "",
                f"The {kind.name}",
                f"Which {kind.name}, {example(facts, kind)}",
                f"{w.capital(w.spoken(self.parameter))} of the {kind.name}, {example(facts, kind)}",
                f"Name or number of the {kind.name}",
            )
        )
        self.schema = parameters({self.parameter: text_schema(hint)})

    def answer(self, key: str) -> Value:
        if self.relation:
            return self.facts.related(self.kind.name, key, *self.relation)
        assert self.attribute is not None
        return self.facts.value(self.kind.name, key, self.attribute)

    def args(self, key: str) -> Args:
        return {self.parameter: key}

    def call(self, **args: Any) -> str:
        key = self.facts.find(self.kind.name, str(args.get(self.parameter, "")))
        if key is None:
            raise ToolError(unknown(self.facts, self.kind.name, str(args.get(self.parameter, ""))))
        value = self.answer(key)
        return (
            shown(value, self.unit),
            json.dumps({w.snake(self.what): value}, ensure_ascii=False),
            f"The {self.what} of {key} is {shown(value, self.unit)}.",
            f"{self.what}: {shown(value, self.unit)}",
            shown(value),
        )[self.style]

    def tool(self) -> Tool:
        return Tool(self.name, self.description, self.schema, self.call, effect="pure")


def unknown(facts: Facts, kind: str, name: str) -> str:
    others = ", ".join(facts.things(kind, 4))
    return facts.r.choice(
        (
            f"no {kind} {name!r}; there are: {others}",
            f"unknown {kind} {name!r}. Known: {others}",
            f"{kind} not found: {name}. Did you mean one of {others}?",
            f"{name!r} is not {a(kind)}. Choose from: {others}",
            f"nothing found for {name!r} (have {others})",
            f"No match for {name}. Possible values: {others}.",
        )
    )


class Record:
    """A tool that tells several attributes of a thing at once."""

    def __init__(self, facts: Facts, kind: Kind) -> None:
        r = facts.r
        self.facts, self.kind = facts, kind
        self.attributes = r.sample(kind.attributes, min(len(kind.attributes), r.randint(2, 5)))
        self.relation = r.choice(kind.relations) if kind.relations and r.random() < 0.5 else None
        noun = w.snake(kind.name)
        name = r.choice(
            (f"get_{noun}", f"{noun}_record", f"find_{noun}", f"{noun}_details", f"show_{noun}", f"{noun}_info")
        )
        self.name = styled(r, name)
        self.parameter = r.choice(kind.parameters)
        listed = ", ".join(
            [attribute.name for attribute in self.attributes] + ([self.relation[0]] if self.relation else [])
        )
        self.description = r.choice(
            (
                f"Returns the record of {a(kind.name)}: {listed}.",
                f"What is known of {a(kind.name)} ({listed}).",
                f"Everything on file about {a(kind.name)}.",
                f"The record of {a(kind.name)}.",
                f"Details of one {kind.name}, as far as they are known.",
            )
        )
        self.as_json = r.random() < 0.7
        """Whether it tells names of fields and values, without units."""
        self.format = one(r)

    def args(self, key: str) -> Args:
        return {self.parameter: key}

    def call(self, **args: Any) -> str:
        key = self.facts.find(self.kind.name, str(args.get(self.parameter, "")))
        if key is None:
            raise ToolError(unknown(self.facts, self.kind.name, str(args.get(self.parameter, ""))))
        values = {a: self.facts.value(self.kind.name, key, a) for a in self.attributes}
        related = {self.relation[0]: self.facts.related(self.kind.name, key, *self.relation)} if self.relation else {}
        if self.as_json:
            fields = {w.snake(a.name): value for a, value in values.items()} | {
                w.snake(name): value for name, value in related.items()
            }
            return self.format({w.snake(self.kind.name): key, **fields})
        told = [f"{a.name} {shown(value, a.unit)}" for a, value in values.items()] + [
            f"{name} {value}" for name, value in related.items()
        ]
        return "; ".join(told)

    def tool(self) -> Tool:
        return Tool(self.name, self.description, parameters({self.parameter: text_schema()}), self.call, effect="pure")


class Picky(Lookup):
    """A lookup that takes the name of a thing in one form only, and says so when it gets another."""

    def __init__(self, facts: Facts, kind: Kind, attribute: Attribute) -> None:
        super().__init__(facts, kind, attribute)
        r = facts.r
        self.key = facts.thing(kind.name)
        digits = "".join(c for c in self.key if c.isdigit())
        forms = [(self.key.lower(), "in capital letters"), (f"{kind.name} {self.key}", f"without the word {kind.name}")]
        if digits and digits != self.key:
            forms += [(digits, f"in the form {kind.keys(r)}")] * 3
        letters = self.key.removesuffix(digits)
        if digits and letters and letters.isalpha():
            forms += [(f"{letters}-{digits}", "without a hyphen"), (f"{letters} {digits}", "without a blank")]
        if "-" in self.key:
            forms += [
                (self.key.replace("-", " "), f"with a hyphen, as in {kind.keys(r)}"),
                (self.key.replace("-", ""), f"in the form {kind.keys(r)}"),
            ]
        self.given, self.rule = r.choice(
            [form for form in forms if form[0] != self.key] or [(self.key + ".", "without a full stop")]
        )
        self.told_before = r.random() < 0.4
        if self.told_before:
            self.schema = parameters({self.parameter: text_schema(f"The {kind.name}, {self.rule}")})

    def call(self, **args: Any) -> str:
        if str(args.get(self.parameter, "")) != self.key:
            raise ToolError(
                self.facts.r.choice(
                    (
                        f"{self.parameter} has to be given {self.rule}",
                        f"cannot read {args.get(self.parameter)!r}: write it {self.rule}",
                        f"invalid {self.parameter}; expected it {self.rule}",
                        f"no {self.kind.name} {args.get(self.parameter)!r}. Write the {self.parameter} {self.rule}.",
                        f"not found: {args.get(self.parameter)} (the {self.parameter} is written {self.rule})",
                        f"bad request: {self.parameter} {self.rule}, please",
                    )
                )
            )
        return super().call(**args)


def lookup(facts: Facts, numeric: bool = False, kind: str = "") -> Lookup:
    """A lookup of some attribute; `numeric`: one that has a unit to calculate with."""
    while True:
        chosen = KINDS[kind or facts.r.choice(list(KINDS))]
        attributes = [a for a in chosen.attributes if a.numeric or not numeric]
        if attributes:
            return Lookup(facts, chosen, facts.r.choice(attributes))


def relation(facts: Facts, target: str = "", source: str = "") -> Lookup:
    """A lookup of some relation, to a thing of the kind `target` if that is given."""
    choices = [
        (kind, rel)
        for kind in KINDS.values()
        for rel in kind.relations
        if (not target or rel[1] == target) and (not source or kind.name == source)
    ]
    kind, chosen = facts.r.choice(choices)
    return Lookup(facts, kind, relation=chosen)
