"""Scenarios with parameters of all types: numbers, booleans, lists, objects, dates; optional ones are left out."""

from __future__ import annotations

import json
import random
from typing import Any

from training.scenario import Say, Scenario, act
from training.worlds import words as w
from training.worlds.functions import FUNCTIONS, Function
from training.worlds.naming import styled
from training.worlds.tools import Facts
from treadle import Tool


def made(r: random.Random, function: Function, name: str = "") -> Tool:
    """The function as a tool, in some style."""
    number, style = r.randint(1000, 9999), r.randrange(4)

    def call(**args: Any) -> str:
        if function.compute is not None:
            result = w.number(function.compute(args))
            return (result, json.dumps({"result": float(result)}), f"Result: {result}", f"= {result}")[style]
        if "{result}" in function.done:
            return ("no exact match, 3 similar ones", "2 found", '{"hits": 4}', "7 results")[style]
        return ("ok", f"confirmed, number {number}", json.dumps({"status": "done", "id": number}), "Done.")[style]

    fields = {field.name: field.schema for field in function.fields}
    required = [field.name for field in function.fields if field.required]
    schema = {"type": "object", "properties": fields, "required": required}
    effect = "pure" if function.compute or "{result}" in function.done else "unsafe"
    return Tool(name or styled(r, r.choice(function.names)), function.description, schema, call, effect=effect)


def asked(r: random.Random, function: Function) -> tuple[str, dict[str, Any]]:
    """A question, and the arguments it means."""
    given = [field for field in function.fields if field.required or r.random() < 0.45]
    samples = {field.name: field.sample(r) for field in given}
    order = [field.name for field in given]
    if function.compute is None and r.random() < 0.4:
        r.shuffle(order)
    words = " ".join(samples[name][1] for name in order)
    question = f"{r.choice(function.ask)} {words}"
    mark = "?" if question.split(" ")[0] in ("How", "What", "Which") else r.choice((".", ".", ", please.", ""))
    return question + mark, {name: value for name, (value, _) in samples.items()}


def typed_call(r: random.Random, facts: Facts) -> Scenario:
    function = r.choice(FUNCTIONS)
    question, args = asked(r, function)
    tool = made(r, function)
    result = tool_result(tool, args)
    return Scenario("typed_call", [tool], question, [act(tool, args), Say(said(function, result))])


def typed_among(r: random.Random, facts: Facts) -> Scenario:
    """Among other functions of the same sort."""
    chosen = r.sample(FUNCTIONS, r.randint(3, 7))
    question, args = asked(r, chosen[0])
    tools = [made(r, function) for function in chosen]
    steps = [act(tools[0], args), Say(said(chosen[0], tool_result(tools[0], args)))]
    return Scenario("typed_among", tools, question, steps)


def tool_result(tool: Tool, args: dict[str, Any]) -> str:
    run: Any = tool.execute
    return str(run(**args))


def said(function: Function, result: str) -> str:
    if "{result}" not in function.done:
        return function.done
    if function.compute is None:
        return function.done.format(result={'{"hits": 4}': "4 hits"}.get(result, result))
    digits = result[result.index(next(c for c in result if c.isdigit() or c == "-")) :].rstrip("}")
    return function.done.format(result=w.number(float(digits)))


def detail_missing(r: random.Random, facts: Facts) -> Scenario:
    """A part of what the tool needs was not said, and nothing else can tell: ask for it, invent nothing."""
    function = r.choice([one for one in FUNCTIONS if sum(field.required for field in one.fields) >= 2])
    required = [field for field in function.fields if field.required]
    missing = r.sample(required, r.randint(1, min(2, len(required) - 1)))
    given = [field for field in function.fields if field not in missing and (field.required or r.random() < 0.3)]
    question = f"{r.choice(function.ask)} " + " ".join(field.sample(r)[1] for field in given)
    needed = " and the ".join(w.spoken(field.name) for field in missing)
    text = r.choice(
        (
            f"I still need the {needed}. What should I use?",
            f"Please tell me the {needed}.",
            f"To do this I need to know the {needed}.",
            f"What is the {needed}?",
        )
    )
    mark = "?" if question.split(" ")[0] in ("How", "What", "Which") else "."
    return Scenario("detail_missing", [made(r, function)], question + mark, [Say(text, successful=False)])


def detail_given_later(r: random.Random, facts: Facts) -> Scenario:
    """The same, and the user then says it: now it can be done."""
    function = r.choice([one for one in FUNCTIONS if sum(field.required for field in one.fields) >= 2])
    tool = made(r, function)
    fields = [field for field in function.fields if field.required]
    missing = r.choice(fields)
    samples = {field.name: field.sample(r) for field in fields}
    first = f"{r.choice(function.ask)} " + " ".join(samples[f.name][1] for f in fields if f is not missing)
    name = w.spoken(missing.name)
    words = samples[missing.name][1]
    args = {field.name: samples[field.name][0] for field in fields}
    reply = r.choice((w.capital(words) + ".", f"{w.capital(words)}, please."))
    return Scenario(
        "detail_given_later",
        [tool],
        reply,
        [act(tool, args), Say(said(function, tool_result(tool, args)))],
        history=[(first + ".", [Say(f"Please tell me the {name}.", successful=False)])],
    )
