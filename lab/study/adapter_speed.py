"""What an adapter costs a local model: how fast it reads and writes, and how much of a conversation it reads again.

    python3 tasks.py lab study.adapter_speed [--model qwen2.5-coder-0.5b] [--adapter FILE] [--rounds 3] [--words 400]

Three ways with the same prompts: the model without an adapter, with one that is loaded and not used for the request
(own words), and with one that is used (decisions). Then a conversation in which both kinds of request alternate: the
share of each prompt that was read before and is not read again.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from typing import Any, NamedTuple

from treadle._local.model import LocalModel
from treadle._types.messages import AssistantMessage, Message, SystemMessage, UserMessage
from treadle._types.request import Reply, Request

WRITTEN = 48
"""Tokens of each reply."""
TEXT = "The depot at the harbour keeps lamps, chairs, ropes and paint; each has a shelf, a weight and a price. "


class Measured(NamedTuple):
    read: float
    """Tokens of the prompt a second, those from the cache not counted."""
    wrote: float
    cached: float
    """The part of the prompt that came from the cache."""
    text: str


async def measure(model: LocalModel, messages: tuple[Message, ...], tuned: bool) -> Measured:
    request = Request(messages=messages, max_tokens=WRITTEN, temperature=0, stream=True, tuned=tuned)
    begun, first, reply = time.perf_counter(), 0.0, None
    async for part in model.stream(request):
        if isinstance(part, Reply):
            reply = part
        elif not first:
            first = time.perf_counter()
    ended = time.perf_counter()
    assert reply is not None
    usage, first = reply.usage, first or ended
    return Measured(
        (usage.input_tokens - usage.cached_tokens) / max(first - begun, 1e-6),
        max(usage.output_tokens - 1, 1) / max(ended - first, 1e-6),
        usage.cached_tokens / max(usage.input_tokens, 1),
        reply.text,
    )


async def speeds(name: str, adapter: Any, tuned: bool, rounds: int, words: int) -> list[Measured]:
    """Of prompts that have nothing in common."""
    model = LocalModel(name, adapter=adapter)
    try:
        await measure(model, (SystemMessage("Warm up."), UserMessage("Hello.")), tuned)
        found: list[Measured] = []
        for number in range(rounds):
            text = f"{number} {number}: " + TEXT * (words // 20)
            found.append(await measure(model, (SystemMessage(text), UserMessage("Go on with this text.")), tuned))
        return found
    finally:
        await model.aclose()


async def reuse(name: str, adapter: Any, words: int) -> list[tuple[str, float]]:
    """A conversation of decisions, with one answer in own words in the middle."""
    model = LocalModel(name, adapter=adapter)
    decisions: tuple[Message, ...] = (SystemMessage("Decide. " + TEXT * (words // 20)), UserMessage("What is where?"))
    found: list[tuple[str, float]] = []
    try:
        for turn in range(4):
            seen = await measure(model, decisions, tuned=True)
            found.append((f"decision {turn + 1}", seen.cached))
            decisions += (AssistantMessage(seen.text), UserMessage(f"Result {turn}: shelf {turn + 3}. Go on."))
            if turn == 1:
                own = (SystemMessage("Answer in your own words."), UserMessage("What is a depot?"))
                found.append(("own words", (await measure(model, own, tuned=False)).cached))
        return found
    finally:
        await model.aclose()


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--adapter", default="", help="a file; otherwise the one of the package")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--words", type=int, default=400)
    options = parser.parse_args()
    adapter = options.adapter or True
    ways = {"no adapter": (False, False), "loaded, not used": (adapter, False), "used": (adapter, True)}
    base = None
    print(f"{options.model}, median of {options.rounds}\n")
    print("| | read, tokens/s | written, tokens/s | of no adapter |\n|---|---|---|---|")
    for way, (loaded, tuned) in ways.items():
        found = await speeds(options.model, loaded, tuned, options.rounds, options.words)
        read, wrote = statistics.median(m.read for m in found), statistics.median(m.wrote for m in found)
        base = base or (read, wrote)
        print(f"| {way} | {read:.0f} | {wrote:.1f} | {read / base[0]:.0%}, {wrote / base[1]:.0%} |", flush=True)
    print("\nread before and not again, of each prompt of a conversation with the adapter:")
    for turn, cached in await reuse(options.model, adapter, options.words):
        print(f"  {turn}: {cached:.0%}")


if __name__ == "__main__":
    asyncio.run(main())
