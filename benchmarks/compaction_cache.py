"""How much of what a long run sends has been sent before, and what it costs by the prices of providers that keep it.

python3 tasks.py measure compaction_cache [--steps 400]

A scripted model looks things up in steps of very different sizes. Of each request
the messages that it shares with the beginning of an earlier one, after the same tools, count as cached; a token is four
bytes. What is new is priced as written to the cache where a provider takes more for that.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from itertools import takewhile
from typing import Any

import msgspec

from treadle import Agent, RunLimits, ScriptedModel, tool
from treadle._models.catalog.prices import built_in_prices
from treadle._types.request import Request

WINDOWS = (16_000, 128_000)
MODELS = {"Claude Sonnet 4.5": r"claude-sonnet-4-5", "GPT-5.4": r"gpt-5\.4", "Gemini 2.5 Pro": r"gemini-2\.5-pro"}
"""By their patterns in the list of prices."""
WORDS = ("harbour", "closed", "Tuesday", "because", "ship", "Bergen", "lost", "anchor", "second", "pier")
CHARS = 4
"""In a token."""


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


def measure(window: int, steps: int) -> tuple[int, int, dict[str, list[int]]]:
    """Return how often the conversation was made shorter, the bytes written, and per component the bytes sent and
    shared."""
    made = written = 0

    def reply(request: Request) -> Any:
        nonlocal made, written
        if request.component == "compaction":
            summary = "Entries of the harbour's archive were read; " + "nothing in them answers the question yet. " * 20
            written += len(summary)
            return summary
        if made == steps:
            return "No entry explains it."
        made += 1
        written += 60
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
        count = counts.setdefault(request.component, [0, 0, 0])
        count[0] += 1
        count[1] += sum(map(len, parts))
        count[2] += max((shared_with(parts, one) for one in earlier), default=0)
        earlier = [*earlier[-5:], parts]  # a provider keeps a prefix for minutes
    return result.metadata["compactions"], written, counts


def costs(sent: int, shared: int, written: int) -> list[str]:
    """By the prices of each provider, in dollars, and beside it the share of what it would be without a cache."""
    texts: list[str] = []
    for pattern in MODELS.values():
        prices = built_in_prices().models[pattern].prices()
        assert prices is not None
        assert prices.cached is not None
        new = prices.input if prices.cache_write is None else prices.cache_write
        tokens = [amount / CHARS / 1e6 for amount in (sent - shared, shared, written)]
        cost = tokens[0] * new + tokens[1] * prices.cached + tokens[2] * prices.output
        uncached = (tokens[0] + tokens[1]) * prices.input + tokens[2] * prices.output
        texts.append(f"${cost:.2f} ({cost / uncached:.0%})")
    return texts


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--steps", type=int, default=400)
    steps = options.parse_args().steps
    print(f"| window | made shorter | summaries | of these cached | whole run cached | {' | '.join(MODELS)} |")
    print("|---" * (5 + len(MODELS)) + "|")
    for window in WINDOWS:
        compactions, written, counts = measure(window, steps)
        asked, size, shared = counts.get("compaction", [0, 1, 0])
        _, sent, cached = (sum(column) for column in zip(*counts.values(), strict=True))
        row = (f"{window:,}", compactions, asked, f"{shared / size:.1%}" if asked else "-", f"{cached / sent:.1%}")
        print(f"| {' | '.join(map(str, (*row, *costs(sent, cached, written))))} |")


if __name__ == "__main__":
    main()
