"""What the constrained call of `Judge` costs with a model on this machine, and what it decides.

    python benchmarks/receipt_judge.py FOLDER/inspect_evals/tau2/data/domains [--model NAME] [--number N]

Runs of the tau2 tasks as in `receipt_actions.py`: a script makes the acting call, which is done or fails, and claims in
words without an id that it was done. No rule decides about such a sentence, so the local model is asked.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from receipt_actions import WORDINGS, tasks_of

from treadle import Agent, LocalModel, ScriptedModel, Tool
from treadle._journal.memory import MemoryJournal
from treadle._models.base import StreamPart
from treadle._plugins.evidence.support import claims_of
from treadle._types.events import ThinkDone
from treadle._types.request import Request
from treadle._types.usage import NO_USAGE
from treadle.plugins import Judge


class Judged(ScriptedModel):
    """Plays a script; what the judge asks, another model answers."""

    def __init__(self, script: list[Any], judge: LocalModel) -> None:
        super().__init__(script, profile=judge.profile)
        self.judge = judge

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        asked = self.judge.stream(request) if request.component == "judge" else super().stream(request)
        async for part in asked:
            yield part


async def measure(folder: Path, name: str, number: int) -> None:
    rng, seconds, usage = random.Random(7), list[float](), NO_USAGE
    said: dict[str, Counter[str]] = defaultdict(Counter)
    async with LocalModel(name, adapter=False) as local:
        for calls, _ in rng.sample(list(tasks_of(folder)), number):
            _, acting, args, _ = calls[-1]
            text = rng.choice(WORDINGS["without_identifier"]["test"]["en"])
            for became, result in (("done", "done"), ("failed", "Error: it is not allowed any more")):

                async def execute(result: str = result, **values: Any) -> str:
                    return result

                schema: dict[str, Any] = {"type": "object", "properties": {key: {} for key in args}}
                tool: Tool[..., Any] = Tool(acting, "Acts.", schema, execute, effect="unsafe")
                journal, model = MemoryJournal(), Judged([{"name": acting, "args": args}, text], local)
                agent = Agent(model, [tool], dialect="native", journal=journal, receipts="off", plugins=[Judge()])
                began = time.monotonic()
                run = await agent.run("Please do what I asked for.")
                seconds.append(time.monotonic() - began)
                records = await journal.load(run.run_id)
                said[became].update(claim.status for claim in claims_of(run.answer, {run.run_id: records}))
                for record in records:
                    if isinstance(record.event, ThinkDone) and record.event.component == "judge":
                        usage += record.event.usage
    asked = len(seconds)
    print(
        f"{name}: {asked} answers, {usage.input_tokens / asked:.0f} tokens in and {usage.output_tokens / asked:.0f} out"
    )
    print(f"seconds: {sorted(seconds)[asked // 2]:.1f} in the middle, {max(seconds):.1f} at most")
    for became, counts in said.items():
        print(f"{became}: {dict(counts)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--number", type=int, default=6)
    args = parser.parse_args()
    asyncio.run(measure(args.folder, args.model, args.number))


if __name__ == "__main__":
    main()
