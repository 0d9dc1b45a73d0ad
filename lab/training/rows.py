"""python -m training.rows MODEL OUT.jsonl --bfcl DATA [--each 34] [--no-adapter] [--development]

The test rows of the leaderboard with the product as it is installed: the model in the runtime, on this machine, with
its adapter. First decision (`asked` says what that is), greedy. It can be stopped at any time and goes on where it was;
the categories take turns, so that a part of it is balanced as well. Errors are wrong, and counted apart.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import AsyncGenerator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from training import bfcl
from treadle import Agent, LocalModel, RunResult, Tool
from treadle._inspect.evals.stats import wilson
from treadle._types.messages import AssistantMessage, UserMessage
from treadle._types.request import Reply, Request, StreamPart
from treadle._types.usage import Usage

Call = tuple[str, dict[str, Any]]
"""A tool's name and the arguments."""


class FirstDecision:
    """A model whose own words do not matter here, and are not written."""

    def __init__(self, model: LocalModel) -> None:
        self._model = model
        self.name, self.provider, self.profile = model.name, model.provider, model.profile

    async def stream(self, request: Request) -> AsyncGenerator[StreamPart]:
        if self.profile.adapter and not request.tuned:
            yield Reply(".", usage=Usage(requests=1))
            return
        async for part in self._model.stream(request):
            yield part

    async def aclose(self) -> None:
        await self._model.aclose()


def in_turn(rows: list[bfcl.Row]) -> list[bfcl.Row]:
    """One of each category after the other."""
    by: dict[str, list[bfcl.Row]] = {}
    for row in rows:
        by.setdefault(row.category, []).append(row)
    longest = max(map(len, by.values()))
    return [of[index] for index in range(longest) for of in by.values() if index < len(of)]


async def asked(model: Any, row: bfcl.Row, *, limit: float = 300, **settings: Any) -> dict[str, Any]:
    """The first decision of a model about a row, and whether it is accepted.

    Where a call is right, the first one counts that reached its tool: what a guard has refused, arguments that are not
    valid and replies that could not be read are written again, as for any user. Where no call is right, every call
    counts that the model has tried, also one that never reached its tool or was cut off. A run that ends without either
    a call or an answer (`error` says why) is wrong in both.
    """
    reached: list[Call] = []
    tried: list[Call] = []
    chosen = {"answer": "direct", "max_iterations": 4, "temperature": 0, **settings}
    if row.system:
        chosen["system"] = row.system
    begun = time.monotonic()
    try:
        tools = bfcl.tools_of(row, lambda name, args: reached.append((name, args)))
        agent = Agent(model, tools=tools, **chosen)
        result = await asyncio.wait_for(agent.run(row.question), limit)
        answer, error = result.answer, error_of(result)
        tried = [*((step.tool, step.wanted) for step in result.steps), *unread_calls(result, tools)]
    except Exception as failure:
        answer, error = "", f"{type(failure).__name__}: {failure}"
    calls = reached or (tried if row.truth is None else [])
    error = "" if reached else error
    passed = bfcl.right(row, calls, failed=bool(error))
    seconds = round(time.monotonic() - begun, 1)
    return {"id": row.id, "category": row.category, "passed": passed, "seconds": seconds, "calls": calls[:1],
            "answer": answer[:160], "error": error[:160]}  # fmt: skip


def unread_calls(result: RunResult[Any], tools: Sequence[Tool]) -> list[Call]:
    """Calls in replies that could not be read and were asked for again, such as one that was cut off at the limit:
    which tool they name is all that is known of them."""
    unread = [
        reply.text
        for reply, request in pairwise(result.messages)
        if isinstance(reply, AssistantMessage) and isinstance(request, UserMessage) and request.kind == "reformat"
    ]
    return [(tool.name, {}) for text in unread for tool in tools if f'"{tool.name}"' in text]


def error_of(result: RunResult[Any]) -> str:
    """Why a run has no answer of the model; empty where it has one, be it that it cannot do the task."""
    if result.error is not None:
        return f"{type(result.error).__name__}: {result.error}"
    if result.stop_reason not in ("answer", "final_tool"):
        return f"no answer: {result.stop_reason}"
    # Without success, and not by the model's own word: what stands for the answer is a reply that could not be read.
    return "" if result.success or result.task_successful is False else "no reply could be read"


def report(done: list[dict[str, Any]]) -> str:
    lines: list[str] = []
    for name in (*bfcl.CATEGORIES, ""):
        found = [row for row in done if not name or row["category"] == name]
        right = sum(row["passed"] for row in found)
        low, high = wilson(right, len(found))
        failed = sum(bool(row.get("error")) for row in found)
        errors = f", errors among the others: {failed}" if failed else ""
        lines.append(f"{name or 'all':<18}{right:>4} of {len(found):<4} {low:.0%} to {high:.0%}{errors}")
    return "\n".join(lines)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("out", type=Path)
    parser.add_argument("--bfcl", type=Path, required=True)
    parser.add_argument("--each", type=int, default=34, help="rows of each category")
    parser.add_argument("--most", type=int, default=0, help="rows in all, of these")
    parser.add_argument("--no-adapter", action="store_true")
    parser.add_argument("--development", action="store_true", help="the odd rows that are not learnt, instead")
    options = parser.parse_args()
    done = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.is_file() else []
    known = {row["id"] for row in done}
    rows = (
        bfcl.development(options.bfcl)
        if options.development
        else bfcl.sample(options.bfcl, odd=False, per_category=options.each)
    )
    todo = in_turn(rows)[: options.most or None]
    model = FirstDecision(LocalModel(options.model, adapter=not options.no_adapter, keep_prompts=False))
    with options.out.open("a") as file:
        for row in todo:
            if row.id not in known:
                done.append(await asked(model, row))
                file.write(json.dumps(done[-1], ensure_ascii=False) + "\n")
                file.flush()
    await model.aclose()
    print(report(done))


if __name__ == "__main__":
    asyncio.run(main())
