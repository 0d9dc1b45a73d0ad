"""The project's own tasks with a local model, through Treadle and through other engines, side by side.

    python3 tasks.py lab study.study run --model qwen2.5-coder-1.5b --who auto,schema,smolagents --split dev
    python3 tasks.py lab study.study report --split dev

`run` adds one line to the results file for every task that is done, and skips what is there: it can be stopped and
started again at any time. Treadle loads the model into this process; with `--who server` it asks a llama.cpp server by
its address alone, as the other engines do, with `plain` and `plain_server` it does without its adapter.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from study import ours, peers
from study.choices import add_engines, add_environments, names, parsed
from study.report import markdown
from study.rows import CASE_SECONDS, Outcome, add_row, checked_row, load_rows, todo
from study.worlds import EVALS, TOOLS
from treadle._inspect.evals.runner import select_tasks
from treadle._inspect.evals.tasks import Task, TaskSet, read_task_file, task_set
from treadle._journal import open_journal

ENGINES = (*ours.WAYS, *peers.PACKAGES)


def tasks_of(sets: Sequence[str], split: str, limit: int | None, *, all_tools: bool = False) -> TaskSet:
    """The tasks of several sets; with `all_tools` each is offered the tools of all of them."""
    tasks = [task for name in sets for task in read_task_file(EVALS / f"{name}.jsonl")]
    if all_tools:
        everything = tuple(dict.fromkeys(name for task in tasks for name in task.tools or ()))
        tasks = [msgspec.structs.replace(task, tools=everything) for task in tasks]
    return select_tasks(task_set("study", tasks, TOOLS), split="" if split == "all" else split, limit=limit)


async def run(options: argparse.Namespace) -> None:
    tasks = tasks_of(options.sets, options.split, options.limit, all_tools=options.all_tools)
    for who in options.who:
        open_tasks = todo(tasks.tasks, load_rows(options.results), options.label, options.model, who)
        print(
            f"{options.model}, {who}: {len(open_tasks)} of {len(tasks.tasks)} tasks to do", file=sys.stderr, flush=True
        )
        if not open_tasks:
            continue
        work = _ours if who in ours.WAYS else _theirs
        async for task, outcome in work(options, who, tasks, open_tasks):
            row = checked_row(options.label, options.model, who, task, outcome)
            add_row(options.results, row)
            verdict = "passed" if row.passed else f"failed: {row.problems[0]}"
            print(f"  {task.id} {row.seconds:.1f} s, {row.steps} calls, {verdict}", file=sys.stderr, flush=True)


async def _ours(
    options: argparse.Namespace, who: str, task_set: TaskSet, tasks: list[Task]
) -> AsyncIterator[tuple[Task, Outcome]]:
    journal = open_journal(options.journal) if options.journal else None
    async with AsyncExitStack() as opened:
        if journal is not None:
            opened.push_async_callback(journal.aclose)
        if who in ours.SERVED:
            address = await opened.enter_async_context(peers.served(options.model, *ours.SERVED[who]))
            model = ours.served_model(address)
        else:
            model = ours.local_model(options.model, who)
        opened.push_async_callback(model.aclose)
        async for done in ours.solve_all(task_set, tasks, model, who, journal=journal, seconds=options.seconds):
            yield done


async def _theirs(
    options: argparse.Namespace, who: str, task_set: TaskSet, tasks: list[Task]
) -> AsyncIterator[tuple[Task, Outcome]]:
    python = peers.environment(who, options.venvs)
    async with peers.served(options.model) as address:
        async for done in peers.solve_all(
            tasks, python, who, options.model, address, instructions=task_set.instructions, seconds=options.seconds
        ):
            yield done


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("run", "report"):
        command = commands.add_parser(name)
        command.add_argument("--results", type=Path, default=Path("local_study.jsonl"))
        command.add_argument("--split", choices=("dev", "held", "all"), default="dev" if name == "run" else "all")
        add_engines(command, ENGINES)
        if name == "report":
            command.add_argument("--label", help="only rows with this label")
            command.add_argument("--model", help="only rows of this model")
            continue
        command.add_argument("--label", default="now")
        command.add_argument("--model", required=True)
        command.add_argument("--sets", type=names, default=["shop", "office"])
        command.add_argument("--limit", type=int, help="only so many tasks, of every kind in turn")
        command.add_argument("--all-tools", action="store_true", help="offer each task the tools of all of them")
        command.add_argument("--seconds", type=float, default=CASE_SECONDS, help="for one task")
        command.add_argument("--journal", help="keep Treadle's runs here, to look at them")
        add_environments(command)
    options = parsed(parser, arguments, ENGINES)
    if options.command == "run":
        asyncio.run(run(options))
    else:
        print(
            markdown(
                load_rows(options.results),
                split=options.split,
                label=options.label,
                model=options.model,
                who=options.who,
            )
        )


if __name__ == "__main__":
    main()
