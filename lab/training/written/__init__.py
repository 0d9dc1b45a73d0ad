"""Worlds written one by one: tools, questions in several words, what a perfect assistant does, and what it says.

Worlds made by a program follow patterns, and a model learns the patterns. These were written task by task, by a large
language model from a brief. A world is a JSON file in this folder. `python -m training.written check FILE` plays its
tasks through the engine.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from training.scenario import Act, Leave, Say, Scenario, Step
from training.worlds import words as w
from training.worlds.devices import Calculator
from training.written.refusals import plainly
from training.written.renaming import other_names, with_names
from training.written.showing import shown_otherwise
from treadle import Tool, ToolError

FOLDER = Path(__file__).parent
CALCULATOR = "calculator"
OFFERS = (*["needed"] * 2, *["world"] * 6, *["among"] * 3, "many")
"""Which tools stand beside those that are needed: none, the world's, the world's and some of another, very many."""
ID = re.compile(r"\b[A-Z]{1,4}[-_/]?(\d{3,6})\b")
"""Ids whose digits can be other ones, the same in all of a task."""
RUN = re.compile(r"(?<![\d.])\d+(?!\d|\.\d)")
SHORTEST = 3
"""Digits from which on the same ones are no chance."""
YEAR = re.compile(r"(?:19|20)\d\d")
RENAMED = 0.5
HARMLESS = 0.5
"""Part of the agents whose tools are known to change nothing: after a refusal these have to call another one."""
Json = Any


class Call(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    call: str
    args: dict[str, Json]
    gives: Json = None
    fails: str = ""
    slip: bool = False
    """A mistake: shown with what follows from it, not learnt."""


class Task(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    kind: Literal["single", "choose", "chain", "recovery", "none", "unable"]
    ask: list[str]
    steps: list[Call]
    answer: str
    """Of kind `none` it is the base model's own, and not learnt: it may be empty."""
    unsuccessful: bool = False


class Described(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    name: str
    description: str
    parameters: dict[str, Json]


class World(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    about: str
    tools: list[Described]
    tasks: list[Task]
    language: str = "en"
    name: str = ""
    """The name of its file."""


def read(path: Path) -> World:
    return msgspec.structs.replace(msgspec.json.decode(path.read_bytes(), type=World), name=path.stem)


def worlds(folder: Path = FOLDER) -> list[World]:
    return [read(path) for path in sorted(folder.glob("*.json"))]


class _Results:
    """What the tools of one task give: the written results, in the order in which they are asked for."""

    def __init__(self, task: Task) -> None:
        self._left = [step for step in task.steps if step.call != CALCULATOR]

    def of(self, tool: str, args: dict[str, Json]) -> Json:
        for place, step in enumerate(self._left):
            if step.call == tool and step.args == args:
                del self._left[place]
                if step.fails:
                    raise ToolError(step.fails)
                return step.gives if isinstance(step.gives, str) else json.dumps(step.gives, ensure_ascii=False)
        raise ToolError("nothing found")


def _tool(described: Described, results: _Results, harmless: bool) -> Tool:
    def call(**args: Json) -> Json:
        return results.of(described.name, args)

    effect = {"effect": "pure"} if harmless else {}
    return Tool(described.name, described.description, described.parameters, call, **effect)


def _needed(world: World, task: Task) -> list[Described]:
    names = {step.call for step in task.steps}
    return [tool for tool in world.tools if tool.name in names]


def _offer(r: random.Random, world: World, task: Task, others: Sequence[World]) -> list[Described]:
    """The needed tools, and which others."""
    offer = r.choice(OFFERS)
    needed = _needed(world, task)
    if offer == "needed" and needed:
        return needed
    tools = list(world.tools)
    if task.kind == "unable":  # a stranger might be able
        return tools
    strangers = [tool for other in r.sample(others, min(len(others), 6)) for tool in other.tools]
    r.shuffle(strangers)
    count = {"among": r.randint(1, 4), "many": r.randint(8, 24)}.get(offer, 0)
    for stranger in strangers[:count]:
        if stranger.name not in {tool.name for tool in tools}:
            tools.append(stranger)
    r.shuffle(tools)
    return tools


def with_other_ids(r: random.Random, task: Task, fixed: str) -> Task:
    """The same task with other digits in its ids, in every form in which they occur: alone, with zeros before them, in
    small letters. Digits that the text `fixed` has, and those that are calculated with, stay as they are."""
    text = msgspec.json.encode(task).decode()
    expressions = " ".join(str(step.args) for step in task.steps if step.call == CALCULATOR)
    alone = {run.lstrip("0") for run in RUN.findall(ID.sub("", text))}
    others: dict[str, str] = {}
    for digits in ID.findall(text):
        known = digits.lstrip("0")
        if len(known) < SHORTEST and known in alone:  # perhaps a day or an hour, told in words elsewhere
            continue
        if known and not YEAR.fullmatch(digits) and known not in fixed and known not in expressions:
            others[known] = r.choice("123456789") + "".join(r.choice("0123456789") for _ in known[1:])
    if len(set(others.values())) < len(others) or any(other in text for other in others.values()):
        return task

    def swapped(found: re.Match[str]) -> str:
        known = found[0].lstrip("0")
        return others[known].zfill(len(found[0])) if known in others else found[0]

    return msgspec.json.decode(RUN.sub(swapped, text), type=Task)


def with_other_names(r: random.Random, world: World, task: Task) -> tuple[World, Task]:
    """Both with other names for the world's tools and their parameters."""
    parameters = {name for tool in world.tools for name in tool.parameters.get("properties", {})}
    others = other_names(r, [tool.name for tool in world.tools], sorted(parameters))
    tools = msgspec.json.decode(with_names(msgspec.json.encode(world.tools).decode(), others), type=list[Described])
    # What people say stays as it is.
    said = msgspec.structs.replace(
        msgspec.json.decode(with_names(msgspec.json.encode(task).decode(), others), type=Task),
        ask=task.ask,
        answer=task.answer,
    )
    return msgspec.structs.replace(world, tools=tools), said


def _in_other_forms(r: random.Random, task: Task) -> Task:
    shown = shown_otherwise(r, [(step.call, step.gives) for step in task.steps])
    steps = [msgspec.structs.replace(step, gives=gives) for step, gives in zip(task.steps, shown, strict=True)]
    return msgspec.structs.replace(task, steps=steps)


def _steps(task: Task, calculator: Calculator | None) -> list[Step]:
    steps: list[Step] = []
    for step in task.steps:
        if step.call == CALCULATOR and calculator is not None:
            args = {calculator.parameter: step.args["expression"]}
            steps.append(Act(calculator.name, args, not step.slip))
        else:
            steps.append(Act(step.call, step.args, not step.slip))
    if task.kind == "none":
        return [Leave(task.answer or "...")]
    return [*steps, Say(task.answer, not task.unsuccessful and task.kind != "unable")]


def scenario(r: random.Random, world: World, task: Task, others: Sequence[World] = (), plain: bool = False) -> Scenario:
    """One way to ask a task: words, tools on offer, ids. With `plain`: as it is written, with the world's tools."""
    from treadle._tools.builtin import builtin

    if not plain and r.random() < 0.6:
        task = with_other_ids(r, task, msgspec.json.encode(world.tools).decode())
    if not plain and r.random() < RENAMED:
        world, task = with_other_names(r, world, task)
    if not plain:
        task = _in_other_forms(r, task)
    results = _Results(task)
    described = list(world.tools) if plain else _offer(r, world, task, others)
    harmless = plain or r.random() < HARMLESS
    tools: list[Any] = [_tool(tool, results, harmless) for tool in described]
    computes = any(step.call == CALCULATOR for step in task.steps)
    calculator = None if plain or r.random() < 0.6 else Calculator(r)
    if calculator is not None and any(tool.name == calculator.name for tool in described):
        calculator = None
    if computes or (not plain and len(described) > 1 and r.random() < 0.5):
        tools.insert(r.randint(0, len(tools)), builtin(CALCULATOR) if calculator is None else calculator)
    ask = task.ask[0] if plain else r.choice(task.ask)
    if task.kind == "unable" and world.language == "en":
        task = msgspec.structs.replace(task, answer=plainly(r, ask, task.answer))
    return Scenario(f"written_{task.kind}", tools, ask, _steps(task, calculator), fill=False)


def held_out(world: World) -> bool:
    """Every tenth world, by its name: what has been learnt is measured on it, where nothing of it has been learnt."""
    return w.one_in_ten(world.name)


def scenarios(
    r: random.Random,
    times: float | Mapping[str, float],
    of: Sequence[World] | None = None,
    beside: Sequence[World] | None = None,
) -> Iterator[Scenario]:
    """All tasks of these worlds, or of all, each so many times in other ways, among tools of the worlds `beside` them;
    `times` may depend on the kind."""
    everything = worlds() if of is None else of
    for world in everything:
        others = [other for other in (everything if beside is None else beside) if other is not world]
        for task in world.tasks:
            often = times[task.kind] if isinstance(times, Mapping) else times
            for _ in range(int(often) + (r.random() < often % 1)):
                yield scenario(r, world, task, others)
