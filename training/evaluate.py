"""What a network can do inside the engine: own task sets, rows of the leaderboard, common knowledge."""

from __future__ import annotations

import asyncio
import json
import sys
import traceback
from collections import defaultdict
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from training import bfcl
from training.network import Job, Network, Written
from training.render import PROFILE, PromptWriter, plain_prompt
from treadle import Agent
from treadle._models.local.prompt import constraint_of
from treadle._models.transport.decision import answer_probability
from treadle._types.request import Reply, Request, StreamPart
from treadle._types.usage import Usage

ROOT = Path(__file__).resolve().parents[1]
BATCH = 96
LONGEST_REPLY = 224


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
        self.decisions: list[tuple[str, float, str]] = []
        """The end of a prompt, how much the model wanted to answer there, and what it wrote."""
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
        text, complete, options = await future
        if options:
            self.decisions.append((job.prompt[-400:], round(answer_probability(options), 3), text[:80]))
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
            except Exception:
                traceback.print_exc()
                written = [Written("", False, {})] * len(now)
            for one, reply in zip(now, written, strict=True):
                if not one.future.done():
                    one.future.set_result(reply)

    def _generate(self, tuned: bool, jobs: list[Job]) -> list[Written]:
        if not tuned and not self._words:
            return [Written(".", True, {})] * len(jobs)
        self._network.switch(tuned)
        return self._network.generate(jobs, LONGEST_REPLY)


def settings(dialect: str) -> dict[str, Any]:
    return {"dialect": dialect, "temperature": 0, "selection_threshold": None}


async def leaderboard(network: Network, rows: list[bfcl.Row], dialect: str = "compact", **facts: Any) -> dict[str, Any]:
    model = Batched(network, words=dialect != "compact", **facts)

    async def one(row: bfcl.Row) -> tuple[bfcl.Row, bool, Any, str]:
        calls: list[tuple[str, dict[str, Any]]] = []
        system = {"system": row.system} if row.system else {}
        answer = ""
        try:
            agent = Agent(
                model,
                tools=bfcl.tools_of(row, lambda name, args: calls.append((name, args))),
                answer="direct",
                max_iterations=4,
                **settings(dialect),
                **system,
            )
            answer = (await asyncio.wait_for(agent.run(row.question), 300)).answer
        except Exception as error:
            answer = f"!{type(error).__name__}: {error}"
        return row, bfcl.right(row, calls), calls[:1], answer

    results = await asyncio.gather(*map(one, rows))
    table = _table(
        [
            (row.category, passed, {"id": row.id, "calls": calls, "answer": str(answer)[:160]})
            for row, passed, calls, answer in results
        ]
    )
    return {**table, "decisions": model.decisions}


async def own_sets(
    network: Network,
    dialect: str = "compact",
    names: tuple[str, ...] = ("shop", "office", "travel", "clinic"),
    **facts: Any,
) -> dict[str, Any]:
    from treadle._cli.setup.toolbox import find_tools
    from treadle._evals.load import load_tasks
    from treadle._evals.runner import Variant, run_tasks

    tools = find_tools([f"{ROOT / 'evals' / 'worlds' / 'all_worlds.py'}:tools", "calculator"], call_factories=False)
    model = Batched(network, **facts)
    variant = Variant("network", model, {**settings(dialect), "max_iterations": 10})
    sets = [load_tasks(ROOT / "evals" / f"{name}.jsonl", tools) for name in names]
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
            },
        )
        for name, of_set in zip(names, trials, strict=True)
        for trial in of_set
    ]
    table = _table(rows)
    kinds = _table([(row["kind"], passed, {}) for _, passed, row in rows])["by"]
    return {**table, "kinds": kinds, "decisions": model.decisions}


def known(network: Network, tools_too: bool) -> dict[str, Any]:
    """Common knowledge, plain (`tools_too` False) or inside the engine with tools on offer."""
    rows = [json.loads(line) for line in (ROOT / "training" / "knowledge.jsonl").read_text().splitlines()]
    if tools_too:
        answers = asyncio.run(_asked(network, [row["question"] for row in rows]))
    else:
        answers = [
            written.text
            for start in range(0, len(rows), BATCH)
            for written in network.generate(
                [Job(plain_prompt(row["question"])) for row in rows[start : start + BATCH]], LONGEST_REPLY
            )
        ]
    return _table(
        [
            (
                row["kind"],
                any(accepted.lower() in answer.lower() for accepted in row["accepted"]),
                {"question": row["question"], "answer": answer[:160]},
            )
            for row, answer in zip(rows, answers, strict=True)
        ]
    )


async def _asked(network: Network, questions: list[str]) -> list[str]:
    import random

    from training.scenario import Scenario, distractors
    from training.worlds.tools import Facts

    model = Batched(network)

    async def one(index: int, question: str) -> str:
        r = random.Random(index)
        facts = Facts(r)
        tools = [tool.tool() for tool in distractors(r, facts, Scenario("", [], "", ()), 5)]
        try:
            result = await asyncio.wait_for(
                Agent(model, tools=tools, answer="direct", max_iterations=4, **settings("compact")).run(question), 300
            )
        except Exception as error:
            return f"!{error}"
        return ("[called] " if result.usage.tool_calls else "") + str(result.answer)

    return list(await asyncio.gather(*(one(i, q) for i, q in enumerate(questions))))


def _table(rows: list[tuple[str, bool, dict[str, Any]]]) -> dict[str, Any]:
    by: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for group, passed, _ in rows:
        by[group][0] += passed
        by[group][1] += 1
    return {
        "right": sum(passed for _, passed, _ in rows),
        "of": len(rows),
        "by": dict(by),
        "rows": [{"group": group, "passed": passed, **row} for group, passed, row in rows],
    }


def report(name: str, table: dict[str, Any], out: Path) -> None:
    print(f"{name}: {table['right']}/{table['of']} {table['by']} {table.get('kinds', '')}", flush=True)
    (out / f"{name}.json").write_text(json.dumps(table, ensure_ascii=False, default=str))
    sys.stdout.flush()
