"""Does a fact from 40 steps ago survive compaction by a real, small, local model?

An agent reads a caretaker's log page by page in a small window. The calls that read pages are scripted (a small model
would need an hour for them); every summary, and the final answer, are written by the local model. The fact is on page
3.

    python benchmarks/recall.py --model qwen2.5-coder-1.5b [--case known] [--journal recall.db]

The cases: `known`, the question is asked at the start, so that the summaries keep what it needs; `late`, it is asked
when all pages are read; `left_out`, no summaries are made, old turns are dropped. Each run is kept in the journal: it
can be killed and is resumed at the next call. Prints a row of a markdown table when a run is finished.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from treadle import Agent, tool
from treadle._engine.run import Run
from treadle._journal import open_journal
from treadle._local.model import LocalModel
from treadle._models.base import Model
from treadle._types.errors import RunNotFoundError
from treadle._types.messages import AssistantMessage
from treadle._types.profile import Profile
from treadle._types.request import Reply, Request, StreamPart
from treadle._types.usage import Usage
from treadle.plugins import ContextGuard

PAGES = 44
FACT = "The spare key of the archive is kept in locker 4817, behind the fire extinguisher."
ANSWER = "4817"
READ = "Read the caretaker's log page by page to its end."
QUESTION = "In which locker is the spare key of the archive kept?"
CASES = {"known": (False, True), "late": (True, True), "left_out": (False, False)}
"""Whether the question is asked late, and whether old turns are summarised."""
HEAD = "| model | question | old turns | fact in the window | answered | summaries | tokens in | tokens out | seconds |"

_WHO = ("Berg", "Olsen", "Haug", "Lie", "Moe", "Dahl", "Strand")
_WHAT = (
    "the lift was serviced",
    "a window was mended",
    "two lamps were changed",
    "the roof was swept",
    "the gate was oiled",
)


def page(number: int) -> str:
    if number == 3:
        return f"Page 3. {FACT}"
    who, what = _WHO[number % len(_WHO)], _WHAT[number % len(_WHAT)]
    cost = f"it took {number % 5 + 1} hours and cost {number * 17 % 90 + 10} crowns"
    end = "This is the last page of the log." if number == PAGES else "Nothing else."
    return f"Page {number}. On day {number} {what} by {who}; {cost}. {end}"


@tool(effect="pure")
async def read_log(number: int) -> str:
    """Read one page of the caretaker's log."""
    return page(number) if 1 <= number <= PAGES else f"There is no page {number}: the log has {PAGES} pages."


class Reader:
    """Reads the pages by a script, and passes every other request to the model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.late = ""
        self.run: Run | None = None

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def profile(self) -> Profile:
        return self.model.profile

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        assert self.run is not None
        pages_read = len(self.run.state.steps)
        if request.component != "loop" or pages_read >= PAGES:
            async for part in self.model.stream(request):
                yield part
            return
        if pages_read == PAGES - 1 and self.late:
            self.run.send(self.late)
        number = pages_read + 1
        step = {"thought": f"I read page {number}.", "action": "read_log", "args": {"number": number}}
        yield Reply(text=msgspec.json.encode(step).decode(), usage=Usage(requests=1))

    async def aclose(self) -> None:
        pass


async def recall(model: Model, case: str, *, journal: Any = None, run_id: str = "") -> dict[str, Any]:
    """One run, started or resumed: whether the fact is in the answer, and what the run took."""
    late, summarise = CASES[case]
    reader = Reader(model)
    reader.late = f"You have read it all. {QUESTION} Answer from what you know." if late else ""
    agent = Agent(
        reader, [read_log], dialect="schema", max_iterations=PAGES + 4, max_tokens=256, journal=journal,
        plugins=[ContextGuard(summarise=summarise)],
    )  # fmt: skip
    try:
        if journal is None:
            raise RunNotFoundError("there is no journal")
        run = await agent.load(run_id)
    except RunNotFoundError:
        run = agent.prepare(READ if late else f"{READ} Then tell me: {QUESTION}", run_id=run_id)
    reader.run = run
    result = await agent.launch(run)
    window = [entry.message for entry in run.state.conversation.window]
    window = window[:-1] if isinstance(window[-1], AssistantMessage) else window
    spent = [result.metadata["components"].get(name, {"elapsed": 0.0, "calls": 0}) for name in ("compaction", "loop")]
    return {
        "finished": result.stop_reason == "answer",
        "answered": ANSWER in result.answer,
        "answer": result.answer,
        "in_window": any(ANSWER in str(message) for message in window),
        "page_in_window": any(FACT in str(message) and "Page 3." in str(message) for message in window),
        "summaries": spent[0]["calls"],
        "usage": result.usage,
        "seconds": sum(part["elapsed"] for part in spent),
    }


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--case", choices=list(CASES), default=None)
    parser.add_argument("--window", type=int, default=2048)
    parser.add_argument("--journal", default="recall.db")
    options = parser.parse_args()
    model = LocalModel(options.model, n_ctx=options.window, slots=2)
    print(HEAD + "\n" + "|---" * 9 + "|", flush=True)
    for case, (late, summarise) in CASES.items():
        if options.case not in (None, case):
            continue
        journal = open_journal(options.journal)
        result = await recall(model, case, journal=journal, run_id=f"{options.model}-{case}-{options.window}")
        await journal.aclose()
        cells = [
            options.model, "asked at the end" if late else "known from the start",
            "summarised" if summarise else "left out", "yes" if result["in_window"] else "no",
            "yes" if result["answered"] else "no", result["summaries"], result["usage"].input_tokens,
            result["usage"].output_tokens, f"{result['seconds']:.0f}",
        ]  # fmt: skip
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
        print(f"<!-- {result['answer'][:300]!r}; page 3 itself still there: {result['page_in_window']} -->", flush=True)
    await model.aclose()


if __name__ == "__main__":
    asyncio.run(main())
