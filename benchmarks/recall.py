"""Does a fact from 40 steps ago survive compaction by a real, small, local model?

An agent reads a caretaker's log page by page in a small window. The turning of pages is scripted (a small model would need
an hour for it); every summary, and the final answer, is the local model's own work. The fact stands on page 3.

    python benchmarks/recall.py [--model qwen2.5-coder-1.5b] [--pages 44] [--window 2048] [--repeat 1]

Prints a markdown table: with the question known from the start (the pinned question tells the summaries what matters), with
the question asked only at the end, and with summaries switched off (old turns are left out).
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from treadle import Agent, tool
from treadle.models.base import Model
from treadle.models.local import LocalModel
from treadle.plugins.context import ContextGuard
from treadle.types.profile import Profile
from treadle.types.request import Reply, Request, StreamPart
from treadle.types.usage import Usage

FACT = "The spare key of the archive is kept in locker 4817, behind the fire extinguisher."
ANSWER = "4817"
ASKED_FIRST = "Read the caretaker's log page by page to its end, then tell me: in which locker is the spare key of the archive kept?"
ASKED_LAST = "Read the caretaker's log page by page to its end. I will then ask you one thing about it."
LATE = "You have read it all. In which locker is the spare key of the archive kept? Answer from what you know."

_WHO = ("Berg", "Olsen", "Haug", "Lie", "Moe", "Dahl", "Strand")
_WHAT = ("the lift was serviced", "a window was mended", "two lamps were changed", "the roof was swept", "the gate was oiled")


def page(number: int) -> str:
    if number == 3:
        return f"Page 3. {FACT}"
    who, what = _WHO[number % len(_WHO)], _WHAT[number % len(_WHAT)]
    cost = f"it took {number % 5 + 1} hours and cost {number * 17 % 90 + 10} crowns"
    return f"Page {number}. On day {number} {what} by {who}; {cost}. Nothing else."


@tool(effect="pure")
async def read_log(number: int) -> str:
    """Read one page of the caretaker's log."""
    return page(number)


class Reader:
    """Turns the pages by script and leaves everything else to the model behind it."""

    def __init__(self, model: Model, pages: int, late: str = "") -> None:
        self.model = model
        self.pages = pages
        self.late = late
        self.turned = 0
        self.send: Any = None
        self.largest = 0
        self.answer_request: Request | None = None

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def profile(self) -> Profile:
        return self.model.profile

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        if request.component == "loop" and self.turned < self.pages:
            self.turned += 1
            if self.turned == self.pages and self.late:
                self.send(self.late)
            step = {"thought": f"I read page {self.turned}.", "action": "read_log", "args": {"number": self.turned}}
            yield Reply(text=msgspec.json.encode(step).decode(), usage=Usage(requests=1))
            return
        if request.component == "loop":
            self.answer_request = request
        async for part in self.model.stream(request):
            if isinstance(part, Reply):
                self.largest = max(self.largest, part.usage.input_tokens)
            yield part

    async def aclose(self) -> None:
        pass


async def recall(model: Model, pages: int, *, late: bool, summarise: bool) -> dict[str, Any]:
    """One run; whether the fact is in the answer, and what it took."""
    reader = Reader(model, pages, LATE if late else "")
    agent = Agent(
        reader, [read_log], dialect="schema", max_iterations=pages + 4, max_tokens=256, plugins=[ContextGuard(summarise=summarise)]
    )
    began = time.perf_counter()
    run = agent.start(ASKED_LAST if late else ASKED_FIRST)
    reader.send = run.send
    result = await run
    told = reader.answer_request.messages if reader.answer_request else ()
    return {
        "answered": ANSWER in result.answer,
        "answer": result.answer,
        "in_window": any(ANSWER in str(message) for message in told),
        "page_in_window": any(FACT in str(message) for message in told),
        "compactions": result.metadata["compactions"],
        "calls": result.metadata["components"].get("compaction", {}).get("calls", 0),
        "largest": reader.largest,
        "seconds": time.perf_counter() - began,
    }


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--pages", type=int, default=44)
    parser.add_argument("--window", type=int, default=2048)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--only", choices=["known", "late", "left_out"], default=None)
    options = parser.parse_args()
    model = LocalModel(options.model, n_ctx=options.window, slots=2)
    rows = {"known": (False, True), "late": (True, True), "left_out": (False, False)}
    print("| question | old turns | fact in the window | answered | summaries | largest request | seconds |")
    print("|---|---|---|---|---|---|---|")
    for name, (late, summarise) in rows.items():
        if options.only not in (None, name):
            continue
        runs = [await recall(model, options.pages, late=late, summarise=summarise) for _ in range(options.repeat)]
        shown = [f"{sum(run[key] for run in runs)} of {len(runs)}" for key in ("in_window", "answered")]
        asked, old = "asked at the end" if late else "known from the start", "summarised" if summarise else "left out"
        seconds = sum(run["seconds"] for run in runs) / len(runs)
        largest = max(run["largest"] for run in runs)
        print(f"| {asked} | {old} | {shown[0]} | {shown[1]} | {runs[0]['calls']} | {largest} | {seconds:.0f} |", flush=True)
        for run in runs:
            print(f"<!-- {run['answer'][:200]!r} page still there: {run['page_in_window']} -->", flush=True)
    await model.aclose()


if __name__ == "__main__":
    asyncio.run(main())
