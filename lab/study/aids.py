"""What planner, observer and reflection cost a small local model, and what they gain, on the project's own task sets.

    python3 tasks.py lab study.aids run --model qwen2.5-coder-1.5b [--tasks lab/evals/shop.jsonl] [--kinds chain]
    python3 tasks.py lab study.aids report     # markdown tables

Results are kept as JSON lines in `--results` (default aids.jsonl), one line for each run: the script can be killed, and
continues at the next call. Held-out tasks are not used.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from study.worlds import EVALS, TOOLS
from treadle import Agent
from treadle._inspect.evals.checks import RecordedCall, evaluate_check
from treadle._inspect.evals.runner import select_tasks
from treadle._inspect.evals.tasks import Task, TaskSet, load_tasks
from treadle._local.model import LocalModel
from treadle.plugins import Observer, Planner, Reflection

AIDS = ("planner", "observer", "reflection")
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
    task: str
    kind: str
    solved: bool
    answer: str
    stop_reason: str
    iterations: int
    requests: int
    aid_requests: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    seconds: float


async def one(model: LocalModel, name: str, config: str, tasks: TaskSet, task: Task) -> Row:
    agent = Agent(
        model,
        tasks.make_tools(task) or None,
        instructions=tasks.instructions,
        plugins=CONFIGS[config](),
        max_iterations=10,
        max_tokens=300,
    )
    began = time.perf_counter()
    result = await agent.run(task.question)
    seconds = time.perf_counter() - began
    calls = [RecordedCall(step.tool, step.args) for step in result.steps]
    verdict = evaluate_check(task.check, result.answer, calls)
    aids = sum(part["calls"] for component, part in result.metadata["components"].items() if component in AIDS)
    usage = result.usage
    solved = not verdict.problems and result.stop_reason not in ("error", "cancelled")
    return Row(
        name, config, task.id, task.kind, solved, result.answer[:300], result.stop_reason, result.iterations,
        usage.requests, aids, usage.input_tokens, usage.cached_tokens, usage.output_tokens, seconds,
    )  # fmt: skip


async def run(options: argparse.Namespace) -> None:
    results = Path(options.results)
    done = {(row.model, row.config, row.task) for row in read(results)}
    tasks = select_tasks(load_tasks(options.tasks, TOOLS), split="dev", kinds=options.kinds, limit=options.limit)
    model = LocalModel(options.model, n_ctx=4096, slots=3)
    for task in tasks.tasks:
        for config in options.configs:
            if (options.model, config, task.id) not in done:
                row = await one(model, options.model, config, tasks, task)
                append(results, row)
                print(
                    f"{'+' if row.solved else '-'} {config}: {task.question} -> {row.answer!r} ({row.seconds:.0f} s)",
                    flush=True,
                )
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
        configs = [config for config in CONFIGS if any(row.config == config for row in mine)]
        # Only tasks that every configuration has done, so that the columns can be compared.
        tasks = set.intersection(*({row.task for row in mine if row.config == config} for config in configs))
        kinds = list(dict.fromkeys(row.kind for row in mine if row.task in tasks))
        print(f"\n**{name}**, {len(tasks)} tasks\n")
        head = [
            "aids",
            "solved",
            *kinds,
            "iterations",
            "requests",
            "of them aids",
            "tokens in",
            "of them cached",
            "tokens out",
            "seconds",
        ]
        print("| " + " | ".join(head) + " |")
        print("|" + "---|" * len(head))
        for config in configs:
            part = [row for row in mine if row.config == config and row.task in tasks]
            by_kind = [
                f"{sum(row.solved for row in part if row.kind == kind)}/{sum(row.kind == kind for row in part)}"
                for kind in kinds
            ]
            keys = ("iterations", "requests", "aid_requests", "input_tokens", "cached_tokens", "output_tokens")
            totals = [sum(getattr(row, key) for row in part) for key in keys]
            cells = [
                config,
                f"{sum(row.solved for row in part)}/{len(part)}",
                *by_kind,
                *totals,
                f"{sum(row.seconds for row in part):.0f}",
            ]
            print("| " + " | ".join(map(str, cells)) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--tasks", default=str(EVALS / "shop.jsonl"))
    parser.add_argument("--kinds", nargs="*", default=["chain", "recovery", "choose", "none"])
    parser.add_argument(
        "--configs", nargs="*", choices=list(CONFIGS), default=["plain", "planner", "observer", "planner + observer"]
    )
    parser.add_argument("--limit", type=int, default=12)
    parser.add_argument("--results", default="aids.jsonl")
    options = parser.parse_args()
    if options.what == "run":
        asyncio.run(run(options))
    else:
        report(options)


if __name__ == "__main__":
    main()
