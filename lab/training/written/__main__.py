"""python -m training.written check FILE...   what does not fit in written worlds"""

from __future__ import annotations

import asyncio
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import jsonschema_rs

from training.render import Conversation, render
from training.worlds.tools import Facts
from training.written import CALCULATOR, Task, World, read, scenario

NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*")
LEAST_TASKS = 10


def _plain(number: str) -> float | None:
    """`1,250.50` and `1.250,50` are the same number."""
    for text in (number.replace(",", ""), number.replace(".", "").replace(",", ".")):
        try:
            return float(text)
        except ValueError:
            continue
    return None


def made_up(answer: str, seen: str) -> list[str]:
    """Numbers of an answer that nobody said before; a rounded one was said."""
    known = [value for text in NUMBER.findall(seen) if (value := _plain(text)) is not None]
    wrong: list[str] = []
    for text in NUMBER.findall(answer):
        value = _plain(text)
        digits = len(text.rpartition(".")[2]) if "." in text else 0
        if text in seen or value is None or value <= 12:  # small ones may be counted
            continue
        if not any(abs(other - value) < 10**-digits for other in known):
            wrong.append(text)
    return wrong


def of_task(world: World, task: Task) -> Iterator[str]:
    tools = {tool.name: tool for tool in world.tools}
    if len(set(task.ask)) < (2 if task.steps else 1):
        yield "two or more phrasings are wanted in `ask`"
    if task.kind in ("none", "unable") and task.steps:
        yield f"a task of kind {task.kind} has no steps"
    if task.kind not in ("none", "unable") and not task.steps:
        yield "steps are missing"
    for step in task.steps:
        if step.call == CALCULATOR:
            if list(step.args) != ["expression"]:
                yield "calculator has one argument, `expression`"
        elif step.call not in tools:
            yield f"there is no tool {step.call}"
        else:
            for error in jsonschema_rs.validator_for(tools[step.call].parameters).iter_errors(step.args):
                yield f"{step.call}: {error.message}"
            unknown = set(step.args) - set(tools[step.call].parameters.get("properties", {}))
            if unknown:
                yield f"{step.call} has no parameter {', '.join(sorted(unknown))}"
            if step.gives is None and not step.fails:
                yield f"{step.call}: neither `gives` nor `fails`"


async def played(world: World, task: Task) -> tuple[Conversation | None, list[str]]:
    r = random.Random(1)
    conversation = await render(r, Facts(r), scenario(r, world, task, plain=True), "", 0, guarded=False)
    if conversation is None:
        return None, [
            "the engine did not take these steps as they are (a call with the same arguments twice in a row?)"
        ]
    wrong = [] if task.kind == "none" else made_up(task.answer, conversation.turns[-1].prompt)
    return conversation, [f"the answer has {number}, which neither question nor results have" for number in wrong]


async def check(path: Path) -> list[str]:
    try:
        world = read(path)
    except Exception as error:
        return [f"{path.name}: cannot be read: {error}"]
    found: list[str] = []
    for tool in world.tools:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", tool.name):
            found.append(f"{tool.name}: a name has letters, digits, _ and - (no dots)")
        if tool.parameters.get("type") != "object":
            found.append(f"{tool.name}: `parameters` is a JSON Schema of type object")
    names = Counter(tool.name for tool in world.tools)
    found += [f"two tools are called {name}" for name, count in names.items() if count > 1]
    if len(world.tasks) < LEAST_TASKS:
        found.append(f"only {len(world.tasks)} tasks")
    for number, task in enumerate(world.tasks, 1):
        problems = list(of_task(world, task))
        if not problems and not found:
            _, problems = await played(world, task)
        found += [f"task {number} ({task.kind}, {task.ask[0][:50]!r}): {problem}" for problem in problems]
    return [f"{path.name}: {problem}" for problem in found]


async def main() -> int:
    if len(sys.argv) < 3 or sys.argv[1] != "check":
        print(__doc__)
        return 2
    found = [problem for name in sys.argv[2:] for problem in await check(Path(name))]
    print("\n".join(found) or "everything fits")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
