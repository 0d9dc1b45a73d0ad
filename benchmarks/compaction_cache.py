"""How much of what a long run sends has been sent before: a provider that keeps prefixes takes that at a lower price.

python3 tasks.py measure compaction_cache [--steps 400]

A scripted model looks things up in steps of very different sizes. Of each request
the messages that it shares with the beginning of an earlier one, after the same tools, count as cached.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from itertools import takewhile
from typing import Any

import msgspec

from treadle import Agent, RunLimits, ScriptedModel, tool
from treadle._types.request import Request

CACHED_PRICE = 0.1
"""Of the price of a token that was not kept; the price at two large providers."""
WINDOWS = (16_000, 128_000)
WORDS = ("harbour", "closed", "Tuesday", "because", "ship", "Bergen", "lost", "anchor", "second", "pier")


@tool(effect="pure")
def look(number: int) -> str:
    """Look one thing up in the archive of the harbour."""
    draw = random.Random(number)
    return f"entry {number}: " + " ".join(draw.choices(WORDS, k=draw.choice((30, 80, 200, 900))))


def parts_of(request: Request) -> list[bytes]:
    """A request in the order in which providers keep it: the tools, then each message."""
    return [msgspec.json.encode(part) for part in (request.tools, *request.messages)]


def shared_with(parts: list[bytes], earlier: list[bytes]) -> int:
    """How many bytes two requests begin with together."""
    return sum(len(one) for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(parts, earlier, strict=False)))


def measure(window: int, steps: int) -> tuple[int, dict[str, list[int]]]:
    """Return how often the conversation was made shorter, and per component the bytes sent and shared."""
    made = 0

    def reply(request: Request) -> Any:
        nonlocal made
        if request.component == "compaction":
            return "Entries of the harbour's archive were read; " + "nothing in them answers the question yet. " * 20
        if made == steps:
            return "No entry explains it."
        made += 1
        return {"text": f"I look at entry {made}.", "name": "look", "args": {"number": made}}

    model = ScriptedModel(reply)
    limits = RunLimits(max_iterations=steps + 5)
    agent = Agent(model, [look], system="You work in an archive. " * 60, limits=limits, context_budget=window)
    result = asyncio.run(agent.run("Why was the harbour closed?"))
    assert result.success, result
    counts: dict[str, list[int]] = {}
    earlier: list[list[bytes]] = []
    for request in model.requests:
        parts = parts_of(request)
        count = counts.setdefault(request.component, [0, 0])
        count[0] += sum(map(len, parts))
        count[1] += max((shared_with(parts, one) for one in earlier), default=0)
        earlier = [*earlier[-5:], parts]  # a provider keeps a prefix for minutes
    return result.metadata["compactions"], counts


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--steps", type=int, default=400)
    steps = options.parse_args().steps
    print("| window | made shorter | compaction requests, cached | whole run, cached | cost, of one without a cache |")
    print("|---|---|---|---|---|")
    for window in WINDOWS:
        compactions, counts = measure(window, steps)
        size, shared = counts.get("compaction", [1, 0])
        all_size, all_shared = (sum(column) for column in zip(*counts.values(), strict=True))
        cost = (all_size - all_shared * (1 - CACHED_PRICE)) / all_size
        print(f"| {window:,} | {compactions} | {shared / size:.1%} | {all_shared / all_size:.1%} | {cost:.0%} |")


if __name__ == "__main__":
    main()
