"""What planner, observer and reflection cost a small local model, and what they gain it.

    python benchmarks/aids.py run --model qwen2.5-coder-1.5b [--seconds 500]     # goes on where the last call stopped
    python benchmarks/aids.py report                                             # markdown tables

Results are kept as JSON lines in `--results` (default benchmarks/aids.jsonl), one line a task, so that a long measurement can
be made in pieces. The tasks were written before the first measurement and not changed after it.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from treadle import Agent, tool
from treadle.models.local import LocalModel
from treadle.plugins.observer import Observer
from treadle.plugins.planner import Planner
from treadle.plugins.reflection import Reflection
from treadle.types.errors import ToolError

PEOPLE = {"Ann": "Oslo", "Bob": "Rome", "Carla": "Lima", "Dave": "Cairo"}
PEOPLE_IN = {"Oslo": 717_710, "Rome": 2_755_309, "Lima": 10_092_000, "Cairo": 10_107_000}
WEATHER = {"Oslo": "snow, -4 degrees", "Rome": "sun, 19 degrees", "Lima": "fog, 17 degrees", "Cairo": "sun, 31 degrees"}
PRICES = {"lamp": 40, "chair": 65, "table": 220, "shelf": 130}


@tool(effect="pure")
async def find_person(name: str) -> str:
    """Say in which city a person lives.

    Args:
        name: the first name.
    """
    return _known(PEOPLE, name, "person")


@tool(effect="pure")
async def population(city: str) -> str:
    """Say how many people live in a city.

    Args:
        city: the name of the city.
    """
    return str(_known(PEOPLE_IN, city, "city"))


@tool(effect="pure")
async def weather(city: str) -> str:
    """Say what the weather is in a city now.

    Args:
        city: the name of the city.
    """
    return _known(WEATHER, city, "city")


@tool(effect="pure")
async def price(item: str) -> str:
    """Say what one piece of furniture costs, in crowns.

    Args:
        item: its name, in the singular.
    """
    return str(_known(PRICES, item, "item"))


@tool(effect="pure")
async def multiply(a: float, b: float) -> str:
    """Multiply two numbers."""
    return f"{a * b:g}"


def _known(table: dict[str, Any], key: str, what: str) -> Any:
    for name, value in table.items():
        if name.lower() == key.strip().lower():
            return value
    raise ToolError(f"no such {what}: {key}; known are {', '.join(table)}")


class Task(Struct, frozen=True):
    kind: str
    question: str
    check: str
    """A pattern the answer must hold."""


TASKS = [
    Task("single", "How many people live in Oslo?", r"717[ ,.]?710"),
    Task("single", "What is the weather in Lima right now?", r"(?i)fog"),
    Task("single", "What does a chair cost?", r"\b65\b"),
    Task("choose", "Where does Carla live?", r"(?i)lima"),
    Task("choose", "Is it raining in Rome at the moment?", r"(?i)\bno\b|sun|not"),
    Task("chain", "What is the weather where Dave lives?", r"(?i)sun|31"),
    Task("chain", "How many people live in the city where Bob lives?", r"2[ ,.]?755[ ,.]?309"),
    Task("chain", "What do 12 lamps cost together?", r"\b480\b"),
    Task("chain", "What do 3 tables cost together?", r"\b660\b"),
    Task("long", "Who lives in a warmer city, Ann or Bob? Look up both cities and their weather.", r"(?i)bob"),
    Task("long", "What do 2 chairs and 3 shelves cost together? Look up both prices.", r"\b520\b"),
    Task("long", "Which of the cities of Ann, Bob and Dave has most people? Look up all three.", r"(?i)cairo|dave"),
    Task("none", "What is the opposite of hot?", r"(?i)cold"),
    Task("error", "What does one lmap cost? (If the name is not known, try the nearest one.)", r"\b40\b"),
]

CONFIGS: dict[str, Callable[[], list[Any]]] = {
    "plain": list,
    "planner": lambda: [Planner()],
    "observer": lambda: [Observer(3)],
    "planner + observer": lambda: [Planner(), Observer(3)],
    "reflection": lambda: [Reflection()],
}


class Row(Struct, frozen=True):
    model: str
    config: str
    kind: str
    question: str
    solved: bool
    answer: str
    stop_reason: str
    iterations: int
    requests: int
    aid_requests: int
    input_tokens: int
    output_tokens: int
    seconds: float


async def one(model: LocalModel, name: str, config: str, task: Task) -> Row:
    agent = Agent(
        model, [find_person, population, weather, price, multiply], plugins=CONFIGS[config](), max_iterations=10, max_tokens=300
    )  # fmt: skip
    began = time.perf_counter()
    result = await agent.run(task.question)
    spent = result.metadata["components"]
    aids = sum(part["calls"] for component, part in spent.items() if component in ("planner", "observer", "reflection"))
    return Row(
        name, config, task.kind, task.question, bool(re.search(task.check, result.answer)) and result.stop_reason == "answer",
        result.answer[:300], result.stop_reason, result.iterations, result.usage.requests, aids, result.usage.input_tokens,
        result.usage.output_tokens, time.perf_counter() - began,
    )  # fmt: skip


async def run(options: argparse.Namespace) -> None:
    results = Path(options.results)
    done = {(row.model, row.config, row.question) for row in read(results)}
    model = LocalModel(options.model, n_ctx=4096, slots=4)
    end = time.monotonic() + options.seconds
    for task in TASKS:
        for config in CONFIGS:
            if (options.model, config, task.question) in done:
                continue
            if time.monotonic() > end:
                print("not done yet: run it again")
                return
            row = await one(model, options.model, config, task)
            append(results, row)
            print(f"{'+' if row.solved else '-'} {config}: {task.question} -> {row.answer!r} ({row.seconds:.0f} s)", flush=True)
    await model.aclose()
    print("done")


def append(results: Path, row: Row) -> None:
    with results.open("ab") as file:
        file.write(msgspec.json.encode(row) + b"\n")


def read(results: Path) -> list[Row]:
    if not results.exists():
        return []
    return [msgspec.json.decode(line, type=Row) for line in results.read_bytes().splitlines() if line]


def report(options: argparse.Namespace) -> None:
    rows = read(Path(options.results))
    for name in dict.fromkeys(row.model for row in rows):
        mine = [row for row in rows if row.model == name]
        kinds = list(dict.fromkeys(task.kind for task in TASKS))
        print(f"\n**{name}**, {len(TASKS)} tasks\n")
        print(f"| aids | solved | {' | '.join(kinds)} | requests | of them aids | tokens in | tokens out | seconds |")
        print("|" + "---|" * (len(kinds) + 7))
        for config in CONFIGS:
            part = [row for row in mine if row.config == config]
            if not part:
                continue
            by_kind = [f"{sum(row.solved for row in part if row.kind == kind)}/{sum(row.kind == kind for row in part)}" for kind in kinds]
            totals = [sum(getattr(row, key) for row in part) for key in ("requests", "aid_requests", "input_tokens", "output_tokens")]
            cells = [config, f"{sum(row.solved for row in part)}/{len(part)}", *by_kind, *totals, f"{sum(row.seconds for row in part):.0f}"]
            print("| " + " | ".join(map(str, cells)) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--results", default=str(Path(__file__).with_name("aids.jsonl")))
    parser.add_argument("--seconds", type=float, default=500)
    options = parser.parse_args()
    if options.what == "run":
        asyncio.run(run(options))
    else:
        report(options)


if __name__ == "__main__":
    main()
