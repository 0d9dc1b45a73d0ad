"""`find_causes` in earnest: on tasks of our sets that a small local model with its shipped adapter does not solve.

    python3 tasks.py lab study.why_study --tasks clinic --kind chain --kind recovery --failures 6 --requests 12

Each task is run; one that fails is searched for its cause by its own check. What was found is printed, one line each.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from typing import Any

import msgspec

from study.worlds import EVALS, TOOLS
from treadle import find_causes
from treadle._inspect.evals.runner import Variant, agent_for, run_tasks, select_tasks
from treadle._inspect.evals.tasks import TaskSet, load_tasks
from treadle._journal.memory import MemoryJournal
from treadle._local.model import LocalModel


async def studied(tasks: TaskSet, variant: Variant, args: argparse.Namespace) -> None:
    failures = 0
    for task in (task for task in tasks.tasks if not args.only or task.id in args.only):
        journal = MemoryJournal()
        one = msgspec.structs.replace(tasks, tasks=(task,)) if isinstance(tasks, msgspec.Struct) else tasks
        (trial,) = await run_tasks(one, [variant], journal=journal)
        row: dict[str, Any] = {"task": task.id, "passed": trial.passed, "answer": trial.answer[:200]}
        if not trial.passed:
            failures += 1
            begun = time.monotonic()
            agent = agent_for(one, variant, task, journal)
            found = await find_causes(
                agent, trial.run_id, check=task.check, requests=args.requests, parallel=1, on_experiment=_show,
                dialects=args.try_dialect,
            )  # fmt: skip
            row |= {
                "problems": trial.problems,
                "causes": [[str(cause.change), str(cause.experiment.share)] for cause in found.causes[:4]],
                "requests": found.requests,
                "complete": found.complete,
                "seconds": round(time.monotonic() - begun),
            }
        print(msgspec.json.encode(row).decode(), flush=True)
        if failures >= args.failures:
            break


def _show(experiment: Any) -> None:
    mark = "+" if experiment.helps else "-"
    print(f"  {mark} {experiment.change} -> {experiment.answer[:70]!r} {experiment.seconds:.0f} s", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default="clinic")
    parser.add_argument("--kind", action="append", default=[])
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--failures", type=int, default=6)
    parser.add_argument("--requests", type=int, default=12)
    parser.add_argument("--only", action="append", default=[], help="the id of a task")
    parser.add_argument("--try-dialect", action="append", default=[])
    args = parser.parse_args()
    loaded = load_tasks(str(EVALS / f"{args.tasks}.jsonl"), TOOLS)
    tasks = select_tasks(loaded, split="", kinds=args.kind, limit=None)
    variant = Variant(args.model, LocalModel(args.model, threads=args.threads), {"max_iterations": 8})
    asyncio.run(studied(tasks, variant, args))


if __name__ == "__main__":
    main()
