"""Runs that were broken on purpose, each with one known cause: where does `find_causes` rank it, and at what price?
Beside it, what a model finds that is asked to read the trace.

    python benchmarks/why_broken.py scripted [--out results.jsonl]
    python benchmarks/why_broken.py blind    [--out results.jsonl]
    python benchmarks/why_broken.py local --model qwen2.5-coder-1.5b [--seed 7] [--only 0-4,9] [--reader] [--out FILE]
    python benchmarks/why_broken.py read --set scripted --model qwen2.5-coder-1.5b [--out results.jsonl]

`local` draws 20 runs of a small model, two for each of ten kinds of cause; `--only` takes some of them by number.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parent))

from why.cases import Broken
from why.reading import read

from treadle import Agent
from treadle._inspect.why.judges import expected
from treadle._inspect.why.search import find_causes
from treadle._journal.memory import MemoryJournal
from treadle._local.model import LocalModel
from treadle._types.state import fold


async def broken_run(case: Broken, journal: Any) -> tuple[Agent[Any, Any], str, str]:
    agent = case.agent(journal)
    result = await agent.run(case.question, history=case.history, on_error="result")
    return agent, result.run_id, result.answer


async def goes_right(case: Broken) -> bool:
    journal = MemoryJournal()
    _, run_id, _ = await broken_run(case, journal)
    return (await expected(**case.expected).judge(fold(await journal.load(run_id)))).right


async def searched(case: Broken, args: argparse.Namespace, model: Any) -> dict[str, Any]:
    """The row of one case. A run that does not go wrong is no case, and says so."""
    journal = MemoryJournal()
    agent, run_id, answer = await broken_run(case, journal)
    row: dict[str, Any] = {"case": case.name, "answer": answer}
    records = await journal.load(run_id)
    if args.what != "read":
        begun = time.monotonic()
        options: dict[str, Any] = {"requests": args.requests, "parallel": 1, **case.expected, **case.options()}
        found = await find_causes(agent, run_id, on_experiment=_show if args.verbose else None, **options)
        ranks = [rank for rank, change in enumerate(found.places, 1) if case.is_cause(change)]
        row |= {
            "rank": ranks[0] if ranks else 0,
            "first": str(found.causes[0].change) if found.causes else "",
            "causes": len(found.causes),
            "false_causes": sum(not case.is_cause(one.change) for one in found.causes),
            "requests": found.requests,
            "tokens": found.tokens,
            "reused": found.reused,
            "experiments": len(found.experiments),
            "complete": found.complete,
            "seconds": round(time.monotonic() - begun, 1),
        }
    if args.what == "read" or args.reader:
        wanted = f"the call {case.call}" if case.call else case.answer
        row |= await read(model, records, wanted, case.names, args.chars)
    return row


async def drawn(pair: Callable[[int], tuple[Broken, Broken]]) -> Broken:
    """A run that goes wrong with its cause and right without it: the first of four that are drawn."""
    for attempt in range(4):
        case, sound = pair(attempt)
        if not await goes_right(case) and await goes_right(sound):
            return case
    raise ValueError(f"{pair(0)[0].name}: this model goes wrong without the cause, or right with it")


async def main(args: argparse.Namespace) -> int:
    local = "local" in (args.what, args.set)
    model = None
    if local or args.reader or args.what == "read":
        model = LocalModel(args.model.removeprefix("local:"), threads=args.threads, n_ctx=args.window, adapter=False)
    rows: list[dict[str, Any]] = []
    for case in _cases(args, model, local):
        try:
            row = await searched(case if isinstance(case, Broken) else await drawn(case), args, model)
        except Exception as error:
            row = {"case": getattr(case, "name", ""), "failed": f"{type(error).__name__}: {error}"}
        rows.append(row)
        print(msgspec.json.encode(row).decode(), flush=True)
        if args.out:
            _keep(args.out, row)
    summary(rows)
    if model is not None:
        await model.aclose()
    return 0


def _cases(args: argparse.Namespace, model: Any, local: bool) -> Sequence[Broken | Callable[[int], Any]]:
    if local:
        from why.local import cases

        # Of one set of weights, once with what it was taught about tools and once without.
        found = cases(model, LocalModel(args.model.removeprefix("local:"), threads=args.threads, n_ctx=2048), args.seed)
        return [case for number, case in enumerate(found) if not args.only or number in _numbers(args.only)]
    if args.set == "blind" or args.what == "blind":
        from why.blind import CASES as found
    else:
        from why.scripted import CASES as found
    return [case for number, case in enumerate(found) if not args.only or number in _numbers(args.only)]


def _numbers(only: str) -> set[int]:
    """`3,5-7` as numbers."""
    parts = [part.split("-") for part in only.split(",")]
    return {number for part in parts for number in range(int(part[0]), int(part[-1]) + 1)}


def summary(rows: Sequence[dict[str, Any]]) -> None:
    whole = [row for row in rows if "failed" not in row]
    searched = [row for row in whole if "rank" in row]
    if searched:
        spent = sorted(row["requests"] for row in searched)
        print(
            f"ranked first: {sum(row['rank'] == 1 for row in searched)} of {len(searched)}; a false cause first: "
            f"{sum(bool(row['first']) and row['rank'] != 1 for row in searched)}; model requests: {sum(spent)}, "
            f"{spent[len(spent) // 2]} in the middle, at most {spent[-1]}; tokens: {sum(r['tokens'] for r in searched)}"
        )
    if any("read" in row for row in whole):
        print(f"named by the model that reads the log: {sum(bool(row.get('read')) for row in whole)} of {len(whole)}")
    if len(whole) < len(rows):
        print(f"no cases, or failed: {len(rows) - len(whole)}")


def _keep(path: str, row: dict[str, Any]) -> None:
    with open(path, "ab") as file:
        file.write(msgspec.json.encode(row) + b"\n")


def _show(experiment: Any) -> None:
    mark = "+" if experiment.helps else "-"
    answer = experiment.answer[:60]
    print(
        f"  {mark} step {experiment.step}: {experiment.change} -> {answer!r} {experiment.seconds:.0f} s",
        file=sys.stderr,
        flush=True,
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("scripted", "blind", "local", "read"))
    parser.add_argument("--set", choices=("scripted", "blind", "local"), default="scripted")
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--requests", type=int, default=120)
    parser.add_argument("--chars", type=int, default=1200, help="how much of the trace the reader gets")
    parser.add_argument("--reader", action="store_true", help="ask the same model to read the trace, too")
    parser.add_argument("--seed", type=int, default=7, help="the runs of a local model are drawn with it")
    parser.add_argument("--window", type=int, default=2048, help="tokens of the model's window")
    parser.add_argument("--only", default="", help="which ones, by number: 0-4,9")
    parser.add_argument("--out", default="")
    parser.add_argument("-v", "--verbose", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(_options())))
