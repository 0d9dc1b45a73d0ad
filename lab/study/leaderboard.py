"""Rows of the Berkeley leaderboard with a local model: what Treadle, native calls and other engines decide first.

    python3 tasks.py lab study.leaderboard run --model qwen2.5-coder-1.5b --bfcl DATA --split dev
    python3 tasks.py lab study.leaderboard report --split dev

Every engine gets the functions of a row as tools that do nothing, and the row's question; its first call, or that it
made none, is held against the leaderboard's accepted answers (`training.bfcl`). An engine that failed or was stopped
before its first call is wrong, also where no call is right. `run` can be stopped and started again, as that of the
study. `--split held` takes even rows, which are for a test alone: run them once.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from study import ours, peers
from study.choices import add_engines, add_environments, parsed
from study.report import table
from study.rows import ANSWER_CHARS, FIRST_STEPS, Outcome, Row, add_row, load_rows
from training import bfcl
from training.rows import asked, in_turn
from treadle import LocalModel
from treadle._inspect.evals.checks import RecordedCall
from treadle._inspect.evals.stats import wilson

OURS = ("auto", "plain", "native")
"""Treadle with its adapter and without it, in this process; its native calls, by the server that the others use."""
ENGINES = (*OURS, *peers.PACKAGES)
TESTED = 34
"""Of each category, in the test of the adapters: those taken here are the first of these."""
WINDOW = ("--n-ctx", "8192")
"""Of the server: as large as Treadle's own."""
LIMIT = 120.0


def chosen(folder: Path, each: int, split: str) -> list[bfcl.Row]:
    """So many rows of each category, which take turns."""
    rows = bfcl.development(folder) if split == "dev" else bfcl.sample(folder, odd=False, per_category=TESTED)
    of = {name: [row for row in rows if row.category == name][:each] for name in bfcl.CATEGORIES}
    return in_turn([row for found in of.values() for row in found])


def judged(label: str, model: str, who: str, split: str, row: bfcl.Row, outcome: Outcome) -> Row:
    """An engine that failed or was stopped before its first call has decided nothing. The first call ends the time.

    Of other engines the calls are known that reach a tool; of ours, where no call is right, also those that do not.
    """
    calls = outcome.calls[:1]
    passed = bfcl.right(row, [(call.tool, dict(call.args)) for call in calls], failed=bool(outcome.error))
    seconds = outcome.seconds if outcome.first_call is None else outcome.first_call
    problems = (outcome.error[:ANSWER_CHARS],) if outcome.error else ()
    return Row(
        label, model, who, row.id, row.category, split, passed, round(seconds, 2), outcome.stop,
        outcome.answer[:ANSWER_CHARS], problems, calls, len(outcome.calls), len(outcome.rounds),
    )  # fmt: skip


async def run(options: argparse.Namespace) -> None:
    rows = chosen(options.bfcl, options.each, options.split)
    for who in options.who:
        done = {row.key for row in load_rows(options.results)}
        left = [row for row in rows if (options.label, options.model, who, row.id) not in done]
        print(f"{options.model}, {who}: {len(left)} of {len(rows)} rows to do", file=sys.stderr, flush=True)
        if not left:
            continue
        async for row, outcome in (_ours if who in OURS else _theirs)(options, who, left):
            line = judged(options.label, options.model, who, options.split, row, outcome)
            add_row(options.results, line)
            verdict = " ".join(("right" if line.passed else "wrong", *line.problems))
            print(f"  {row.id} {line.seconds:.1f} s, {line.steps} calls, {verdict}", file=sys.stderr, flush=True)


async def _ours(options: argparse.Namespace, who: str, rows: list[bfcl.Row]) -> AsyncIterator[tuple[bfcl.Row, Outcome]]:
    settings = {"dialect": "native"} if who == "native" else {}
    async with AsyncExitStack() as opened:
        if who == "native":
            model = ours.served_model(await opened.enter_async_context(peers.served(options.model, *WINDOW)))
        else:
            model = LocalModel(options.model, adapter=who != "plain", keep_prompts=False)
            await model.load()
        opened.push_async_callback(model.aclose)
        for row in rows:
            begun = time.monotonic()
            done = await asked(model, row, limit=options.seconds, max_iterations=FIRST_STEPS, **settings)
            calls = tuple(RecordedCall(name, args) for name, args in done["calls"])
            error, seconds = done["error"], time.monotonic() - begun
            stop = "error" if error else "answer"
            yield row, Outcome(done["answer"], stop=stop, error=error, calls=calls, seconds=seconds)


async def _theirs(
    options: argparse.Namespace, who: str, rows: list[bfcl.Row]
) -> AsyncIterator[tuple[bfcl.Row, Outcome]]:
    python = peers.environment(who, options.venvs)
    async with peers.served(options.model, *WINDOW) as address:
        async for done in peers.solve_all(rows, python, who, options.model, address, seconds=options.seconds):
            yield done


def markdown(rows: Iterable[Row], *, split: str, label: str, who: Sequence[str] = ENGINES) -> str:
    """For every model a table of the rows that all engines have done."""
    groups: dict[str, dict[str, dict[str, Row]]] = {}
    for row in rows:
        if row.split == split and row.label == label and row.who in who:
            groups.setdefault(row.model, {}).setdefault(row.who, {})[row.task] = row
    parts: list[str] = []
    for model, by_who in groups.items():
        shared = set.intersection(*map(set, by_who.values()))
        lines = [["", "right", *bfcl.CATEGORIES, "seconds a row", "a call as text", "stopped or failed"]]
        for name in (name for name in who if name in by_who):
            found = [row for task, row in by_who[name].items() if task in shared]
            lines.append([name, *_figures(found)])
        parts.append(f"### {model}\n\n{len(shared)} rows ({split}), with 95 % intervals.\n\n{table(lines)}")
    return "\n\n".join(parts) if parts else "no rows"


def _figures(rows: list[Row]) -> list[str]:
    right = sum(row.passed for row in rows)
    low, high = wilson(right, len(rows))
    kinds = [[row.passed for row in rows if row.kind == name] for name in bfcl.CATEGORIES]
    return [
        f"{right}/{len(rows)} ({100 * low:.0f} to {100 * high:.0f} %)",
        *(f"{sum(kind)}/{len(kind)}" for kind in kinds),
        f"{sum(row.seconds for row in rows) / max(len(rows), 1):.1f}",
        str(sum('"arguments"' in row.answer and not row.calls for row in rows)),
        str(sum(bool(row.problems and not row.calls) for row in rows)),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("run", "report"):
        command = commands.add_parser(name)
        command.add_argument("--results", type=Path, default=Path("leaderboard.jsonl"))
        command.add_argument("--split", choices=("dev", "held"), default="dev", help="odd rows not learnt; even rows")
        add_engines(command, ENGINES)
        command.add_argument("--label", default="now")
        if name == "report":
            continue
        command.add_argument("--model", required=True)
        command.add_argument("--bfcl", type=Path, required=True, help="the data folder of the package bfcl-eval")
        command.add_argument("--each", type=int, default=4, help="rows of each category")
        command.add_argument("--seconds", type=float, default=LIMIT, help="for one row")
        add_environments(command)
    options = parsed(parser, arguments, ENGINES)
    if options.command == "run":
        asyncio.run(run(options))
    else:
        print(markdown(load_rows(options.results), split=options.split, label=options.label, who=options.who))


if __name__ == "__main__":
    main()
