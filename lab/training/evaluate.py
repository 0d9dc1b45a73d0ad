"""python -m training.evaluate MODEL.gguf OUT --adapters ONE.gguf,TWO.gguf [--sets own,dev,known] --bfcl DATA

What a network can do inside the engine: own task sets, rows of the leaderboard, common knowledge. Figures come with
their 95 % intervals; rows of functions that were never learnt are counted apart, and so are errors, which are wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
import traceback
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from training import bfcl
from training.asking import Job, Written
from training.network import Network
from training.render import PROFILE, PromptWriter, plain_prompt
from training.rows import asked, error_of
from training.written import worlds
from treadle import Agent
from treadle._inspect.evals.stats import wilson
from treadle._local.runtime.prompt import constraint_of
from treadle._local.thresholds import with_thresholds
from treadle._models.catalog.profiles import sized
from treadle._models.transport.decision import answer_probability
from treadle._types.errors import ModelError
from treadle._types.profile import DecisionThresholds
from treadle._types.request import Reply, Request, StreamPart
from treadle._types.usage import Usage

if TYPE_CHECKING:
    from treadle._inspect.evals.tasks import Task

LAB = Path(__file__).resolve().parents[1]
BATCH = 192
LONGEST_REPLY = 224
OWN = ("shop", "office", "travel", "clinic")
LATER = ("later/archive", "later/windfarm", "later/harbour", "later/school")
"""Sets that were unseen until the second adapters had been trained."""
LATEST = ("later/library", "later/vineyard", "later/garden", "later/escape")
"""Unseen until the third had been."""
NEWEST = ("later/driving", "later/karaoke", "later/salon", "later/golf")
"""Unseen until the eighth had been."""
NINTH = ("later/bowling", "later/bindery")
"""Unseen until the ninth had been."""
TENTH = ("later/laundry", "later/apiary")
"""Unseen until the ninth had been shipped."""
ELEVENTH = ("later/pawnbroker", "later/carwash")
"""Unseen until the tenth had been trained."""


class _Waiting(NamedTuple):
    tuned: bool
    job: Job
    future: asyncio.Future[Any]


class Batched(PromptWriter):
    """The network as a model of the engine: requests that arrive together are answered together.

    Without `words` what the base model says in its own words does not matter, and is not written. `facts` are put
    into its profile."""

    def __init__(self, network: Network, words: bool = True, **facts: Any) -> None:
        super().__init__()
        self.profile = msgspec.structs.replace(PROFILE, **facts)
        self.decisions: list[tuple[str, float, float, str]] = []
        """The end of a prompt, how much the model wanted to answer there (-1: not read), its least certain token, and
        what it wrote."""
        self._network = network
        self._words = words
        self._waiting: list[_Waiting] = []
        self._worker: asyncio.Task[None] | None = None

    async def stream(self, request: Request) -> AsyncGenerator[StreamPart]:
        grammar = constraint_of(request.format)["grammar"] if request.format is not None else None
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        job = Job(self.prompt(request), grammar, request.decision_after)
        self._waiting.append(_Waiting(request.tuned, job, future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        text, complete, options, least = await future
        wanted = round(answer_probability(options), 3) if options else -1.0
        self.decisions.append((job.prompt[-700:], wanted, least, text[:300]))
        yield Reply(text, finish="stop" if complete else "length", usage=Usage(10, 10, requests=1), options=options)

    async def _work(self) -> None:
        while self._waiting:
            await asyncio.sleep(0.05)
            tuned = sum(one.tuned for one in self._waiting) * 2 >= len(self._waiting)
            same = sorted((one for one in self._waiting if one.tuned == tuned), key=lambda one: len(one.job.prompt))
            now = same[:BATCH]
            self._waiting = [one for one in self._waiting if one not in now]
            try:
                written = await asyncio.to_thread(self._generate, tuned, [one.job for one in now])
            except Exception as error:
                traceback.print_exc()
                self._fail(now, f"{type(error).__name__}: {error}")
                continue
            for one, reply in zip(now, written, strict=True):
                if not one.future.done():
                    one.future.set_result(reply)

    def _fail(self, waiting: Sequence[_Waiting], why: str) -> None:
        """An empty reply in place of the error would be counted as what the model has decided."""
        for one in waiting:
            if not one.future.done():
                one.future.set_exception(ModelError(why, provider=self.provider))

    def _generate(self, tuned: bool, jobs: list[Job]) -> list[Written]:
        if not tuned and not self._words:
            return [Written(".", True, {})] * len(jobs)
        self._network.switch(tuned)
        return self._network.generate_in_parts(jobs, LONGEST_REPLY)


def settings(dialect: str) -> dict[str, Any]:
    return {"dialect": dialect, "temperature": 0, "selection_threshold": None}


async def leaderboard(network: Network, rows: list[bfcl.Row], dialect: str = "compact", **facts: Any) -> dict[str, Any]:
    model = Batched(network, words=dialect != "compact", **facts)

    results = await asyncio.gather(*(asked(model, row, **settings(dialect)) for row in rows))
    kept = ("id", "calls", "answer", "error")
    table = _table([(one["category"], one["passed"], {key: one[key] for key in kept}) for one in results])
    return {**table, "decisions": model.decisions}


async def own_sets(
    network: Network,
    dialect: str = "compact",
    names: tuple[str, ...] = OWN,
    most: int = 0,
    alone: bool = False,
    **facts: Any,
) -> dict[str, Any]:
    """With `alone` each task that takes one tool is offered this tool only."""
    from treadle._cli.setup.toolbox import find_tools
    from treadle._inspect.evals.runner import Variant, run_tasks
    from treadle._inspect.evals.tasks import load_tasks

    tools = find_tools([f"{LAB / 'evals' / 'worlds' / 'all_worlds.py'}:tools", "calculator"], call_factories=False)
    model = Batched(network, **facts)
    variant = Variant("network", model, {**settings(dialect), "max_iterations": 10})
    whole = [load_tasks(LAB / "evals" / f"{name}.jsonl", tools) for name in names]
    sets = [
        msgspec.structs.replace(one, tasks=(_alone(one.tasks) if alone else one.tasks)[: most or None]) for one in whole
    ]
    trials = await asyncio.gather(*(run_tasks(tasks, [variant], parallel=100, task_seconds=300) for tasks in sets))
    rows = [
        (
            name,
            trial.passed,
            {
                "id": trial.task,
                "kind": trial.kind,
                "calls": trial.calls,
                "answer": trial.answer[:160],
                "problems": trial.problems[:2],
                "error": trial.problems[0] if trial.stop_reason == "error" and trial.problems else "",
            },
        )
        for name, of_set in zip(names, trials, strict=True)
        for trial in of_set
    ]
    table = _table(rows)
    kinds = _table([(row["kind"], passed, {}) for _, passed, row in rows])["by"]
    return {**table, "kinds": kinds, "decisions": model.decisions}


def _alone(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """Those that one tool is enough for, with no other one: all sets offer five or more."""
    used = [(task, {call.tool for call in task.solution.calls} if task.solution else set()) for task in tasks]
    return tuple(msgspec.structs.replace(task, tools=tuple(tools)) for task, tools in used if len(tools) == 1)


def known(network: Network, tools_too: bool, most: int = 0) -> dict[str, Any]:
    """Common knowledge, plain (`tools_too` False) or inside the engine with tools on offer."""
    rows = [json.loads(line) for line in (LAB / "training" / "knowledge.jsonl").read_text().splitlines()]
    rows = rows[: most or None]
    if tools_too:
        answers = asyncio.run(_asked(network, [row["question"] for row in rows]))
    else:
        answers = [
            (written.text, "")
            for start in range(0, len(rows), BATCH)
            for written in network.generate(
                [Job(plain_prompt(row["question"])) for row in rows[start : start + BATCH]], LONGEST_REPLY
            )
        ]
    return _table(
        [
            (
                row["kind"],
                not error and any(accepted.lower() in answer.lower() for accepted in row["accepted"]),
                {"question": row["question"], "answer": answer[:160], "error": error[:160]},
            )
            for row, (answer, error) in zip(rows, answers, strict=True)
        ]
    )


async def _asked(network: Network, questions: list[str]) -> list[tuple[str, str]]:
    """Answers, each with the error that there is in its place."""
    import random

    from training.scenario import Scenario, distractors
    from training.worlds.tools import Facts

    model = Batched(network)

    async def one(index: int, question: str) -> tuple[str, str]:
        r = random.Random(index)
        facts = Facts(r)
        tools = [tool.tool() for tool in distractors(r, facts, Scenario("", [], "", ()), 5)]
        try:
            result = await asyncio.wait_for(
                Agent(model, tools=tools, answer="direct", max_iterations=4, **settings("compact")).run(question), 300
            )
        except Exception as error:
            return "", f"{type(error).__name__}: {error}"
        return ("[called] " if result.usage.tool_calls else "") + result.answer, error_of(result)

    return list(await asyncio.gather(*(one(i, q) for i, q in enumerate(questions))))


def _table(rows: list[tuple[str, bool, dict[str, Any]]]) -> dict[str, Any]:
    by: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for group, passed, _ in rows:
        by[group][0] += passed
        by[group][1] += 1
    return {
        "right": sum(passed for _, passed, _ in rows),
        "of": len(rows),
        "errors": sum(bool(row.get("error")) for _, _, row in rows),
        "by": dict(by),
        "rows": [{"group": group, "passed": passed, **row} for group, passed, row in rows],
    }


def apart(table: dict[str, Any], rows: list[bfcl.Row], learnt: set[str]) -> dict[str, Any]:
    """The table with the rows apart whose functions have a name that never occurs in training."""
    unseen = {row.id for row in rows if not {bfcl.tool_name(f["name"]) for f in row.functions} & learnt}
    groups = [("unseen" if row["id"] in unseen else "seen", row["passed"], {}) for row in table["rows"]]
    return {**table, "functions": _table(groups)["by"]}


def report(name: str, table: dict[str, Any], out: Path) -> None:
    low, high = wilson(table["right"], table["of"])
    more = {key: table[key] for key in ("kinds", "functions", "errors") if table.get(key)}
    print(f"{name}: {table['right']}/{table['of']} ({low:.0%} to {high:.0%}) {table['by']} {more or ''}", flush=True)
    (out / f"{name}.json").write_text(json.dumps(table, ensure_ascii=False, default=str))


BY_THE_MODEL = {f"{first}_{later}": DecisionThresholds(first, later) for first, later in ((0.55, 0.17), (0.4, 0.1))}
PLAIN: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("direct", "direct", {}),
    *((f"direct_{name}", "direct", {"decide": decide}) for name, decide in BY_THE_MODEL.items()),
    ("direct_guards", "direct", {"parameters": 1.0}),
    *((f"direct_guards_{name}", "direct", {"decide": d, "parameters": 1.0}) for name, d in BY_THE_MODEL.items()),
    ("schema", "schema", {}),
    *(
        (f"schema_{name}", "schema", {"decide": msgspec.structs.replace(d, dialect="schema")})
        for name, d in BY_THE_MODEL.items()
    ),
)
"""What can be done for a base model: dialect, guards (for models known to be small), its own probabilities."""
PRODUCT = "product"
"""The way in which the product itself asks a model of that size without an adapter."""
SETS = {
    "own": OWN,
    "later": LATER,
    "latest": LATEST,
    "newest": NEWEST,
    "ninth": NINTH,
    "tenth": TENTH,
    "eleventh": ELEVENTH,
}


def evaluate(network: Network, tag: str, options: argparse.Namespace) -> None:
    """The sets that were asked for. One whose result is there is not run again."""
    facts: dict[str, Any] = {"adapter": tag, "parameters": 1.0}  # with the guards that stand beside an adapter
    sets: dict[str, Callable[[], dict[str, Any]]] = {
        **{name: partial(_tasks, network, names, options, facts) for name, names in SETS.items()},
        "alone": lambda: asyncio.run(own_sets(network, names=(*OWN, *LATER), most=options.tasks, alone=True, **facts)),
        "dev": lambda: _rows(network, bfcl.development(options.bfcl), options, facts),
        "known": lambda: known(network, tools_too=True, most=options.tasks),
        "test": lambda: _rows(network, bfcl.sample(options.bfcl, False, 34), options, facts),
    }
    for name in options.sets.split(","):
        if (options.out / f"{tag}_{name}.json").is_file():
            continue
        begun = time.time()
        report(f"{tag}_{name}", sets[name](), options.out)
        print(f"  in {time.time() - begun:.0f} s", flush=True)


def _tasks(
    network: Network, names: tuple[str, ...], options: argparse.Namespace, facts: dict[str, Any]
) -> dict[str, Any]:
    return asyncio.run(own_sets(network, names=names, most=options.tasks, **facts))


def _rows(network: Network, rows: list[bfcl.Row], options: argparse.Namespace, facts: dict[str, Any]) -> dict[str, Any]:
    rows = rows[: options.rows] if options.rows else rows
    table = asyncio.run(leaderboard(network, rows, **facts))
    learnt = bfcl.names(bfcl.training(options.bfcl)) | {tool.name for world in worlds() for tool in world.tools}
    return apart(table, rows, learnt)


def evaluate_base(network: Network, options: argparse.Namespace) -> None:
    """The model without an adapter: what it knows, and each of the ways that there are for such models."""
    network.switch(False)
    sets = options.sets.split(",")
    if "known" in sets and not (options.out / "base_known.json").is_file():
        report("base_known", known(network, tools_too=False, most=options.tasks), options.out)
    rows = {"dev": bfcl.development, "test": lambda data: bfcl.sample(data, False, 34)} if options.bfcl else {}
    ways = options.ways.split(",")
    for tag, dialect, facts in (*PLAIN, (PRODUCT, "auto", product_facts(options.parameters))):
        if options.ways and tag not in ways:
            continue
        for name in sets:
            if name in SETS:
                found = asyncio.run(own_sets(network, dialect, SETS[name], most=options.tasks, **facts))
                report(f"base_{tag}_{name}", found, options.out)
            elif name in rows:
                wanted = rows[name](options.bfcl)[: options.rows or None]
                report(f"base_{tag}_{name}", asyncio.run(leaderboard(network, wanted, dialect, **facts)), options.out)


def product_facts(parameters: float) -> dict[str, Any]:
    """What the product knows of a model of so many billions of parameters, and does for it by that."""
    profile = with_thresholds(sized(PROFILE, parameters, own_server=False))
    return {name: getattr(profile, name) for name in ("parameters", "tiny", "decide")}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--adapters", default="", help="files, separated by commas; none: the base model in all ways")
    parser.add_argument(
        "--sets",
        default="own,later,latest,newest,ninth,alone,dev,known",
        help=f"of {', '.join(SETS)}, alone, dev, known, test",
    )
    parser.add_argument("--bfcl", type=Path)
    parser.add_argument("--ways", default="", help=f"of the base model, separated by commas: {PRODUCT}, direct, ...")
    parser.add_argument("--parameters", type=float, default=1.5, help=f"of the model, in billions, for {PRODUCT}")
    parser.add_argument("--rows", type=int, default=0, help="of the leaderboard, at most")
    parser.add_argument("--tasks", type=int, default=0, help="of each own set and of common knowledge, at most")
    parser.add_argument("--base-known", action="store_true", help="first what the model knows without an adapter")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    network = Network(options.model)
    if not options.adapters:
        evaluate_base(network, options)
    elif options.base_known and not (options.out / "base_known.json").is_file():
        network.switch(False)
        report("base_known", known(network, tools_too=False, most=options.tasks), options.out)
    for path in map(Path, filter(None, options.adapters.split(","))):
        network.restore(path)
        network.merge(True)
        evaluate(network, path.stem, options)


if __name__ == "__main__":
    main()
