"""python -m training.build OUT.jsonl [--scale 1.0] [--seed 1] [--bfcl DATA]

Conversations to learn from, one a line.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec

from training import bfcl
from training.render import Conversation, render
from training.scenario import Act, Scenario
from training.scenes import builtin_tasks, chains, ids, lookups, mishaps, nested, plain_tasks
from training.scenes.talk import KNOWN, questions
from training.worlds.tools import Facts

Make = Callable[[random.Random, Facts], Scenario]
MIXTURE: tuple[tuple[Make, int], ...] = (
    (lookups.single, 500),
    (lookups.foreign, 260),
    (lookups.choose, 420),
    (lookups.record, 320),
    (chains.fact_sum, 560),
    (chains.fact_converted, 200),
    (chains.chain, 900),
    (lookups.compare, 420),
    (chains.tell_someone, 240),
    (mishaps.misspelt, 300),
    (mishaps.unknown_thing, 60),
    (mishaps.other_name, 320),
    (mishaps.busy, 240),
    (mishaps.picky, 420),
    (mishaps.wrong_end, 300),
    (chains.through_record, 260),
    (chains.basket, 300),
    (ids.number_first, 600),
    (nested.nested, 320),
    (nested.by_rate, 220),
    (mishaps.hostile, 240),
    (mishaps.hasty, 160),
    (lookups.two_questions, 260),
    (lookups.follow_up, 260),
    (lookups.steered, 160),
    (plain_tasks.sums, 520),
    (plain_tasks.conversion, 220),
    (plain_tasks.action, 260),
    (plain_tasks.message, 140),
    (plain_tasks.missing_detail, 60),
    (plain_tasks.unable, 240),
    (builtin_tasks.everyday_sum, 200),
    (builtin_tasks.conversion_by_sum, 100),
)
FILES, TALK, KNOWN_AND_SUM, MIXED = 300, 3000, 200, 400
SYSTEMS = (
    "You are the assistant of a small company. Answer briefly.",
    "You help the staff with their daily questions.",
    "You are a friendly assistant.",
    "Today is 2026-03-14. You are an assistant with tools.",
    "Answer in one full sentence.",
    "You are a careful research assistant.",
)


def tool_count(r: random.Random) -> int:
    """Mostly a handful, now and then a long list."""
    return r.choice((1, 2, 3, 3, 4, 4, 5, 5, 5, 6, 6, 7, 8, 9, 10, 12, 14, 18, 24, 30))


async def conversations(scale: float, seed: int, data: Path | None) -> AsyncIterator[Conversation]:
    r = random.Random(seed)
    dropped: Counter[str] = Counter()

    async def one(make: Callable[[Facts], Scenario], name: str, count: int | None = None) -> Conversation | None:
        facts = Facts(r)
        scenario = make(facts)
        system = r.choice(SYSTEMS) if r.random() < 0.2 else ""
        rendered = await render(r, facts, scenario, system, tool_count(r) if count is None else count)
        if rendered is None:
            dropped[name] += 1
        return rendered

    with tempfile.TemporaryDirectory() as folder:
        plan: list[tuple[Callable[[Facts], Scenario], str]] = []
        for make, number in MIXTURE:
            plan += [(lambda facts, make=make: make(r, facts), make.__name__)] * round(number * scale)
        plan += [(lambda facts: builtin_tasks.files_task(r, facts, Path(folder) / "work"), "files")] * round(
            FILES * scale
        )
        plan += [
            (lambda facts, question=question: plain_tasks.talk(r, facts, question), "talk")
            for question in questions(r, round(TALK * scale))
        ]
        plan += [(lambda facts: plain_tasks.mixed(r, facts, r.choice(KNOWN)), "mixed")] * round(MIXED * scale)
        plan += [(lambda facts: plain_tasks.known_and_sum(r, facts, r.choice(KNOWN)), "known_and_sum")] * round(
            KNOWN_AND_SUM * scale
        )
        r.shuffle(plan)
        for make, name in plan:
            rendered = await one(make, name)
            if rendered is not None:
                yield rendered
        if data is not None:
            for row in bfcl.training(data):
                if (scale < 1 and r.random() > scale) or (row.truth is None and r.random() < 0.3):
                    continue
                scenario = bfcl.scenario(r, row)
                rendered = await render_row(r, row, scenario)
                if rendered is None:
                    dropped[scenario.kind] += 1
                else:
                    yield rendered
    print("dropped", dict(dropped))


async def render_row(r: random.Random, row: bfcl.Row, scenario: bfcl.Scenario) -> Conversation | None:
    """A row of the leaderboard: the first decision only."""
    from training.render import Player
    from treadle import Agent

    player = Player(scenario.script)
    settings = {"system": row.system} if row.system else {}
    agent = Agent(
        player,
        tools=scenario.tools,
        answer="direct",
        dialect="compact",
        temperature=0,
        max_iterations=3,
        selection_threshold=None,
        **settings,
    )
    try:
        await agent.run(row.question)
    except Exception:
        return None
    if isinstance(scenario.script[0], Act) and len(player.turns) != 1:
        return None  # the gold arguments do not fit the tool's own schema
    return Conversation(scenario.kind, player.turns[:1])


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bfcl", type=Path)
    options = parser.parse_args()
    kinds: Counter[str] = Counter()
    with options.out.open("wb") as file:
        async for conversation in conversations(options.scale, options.seed, options.bfcl):
            kinds[conversation.kind] += 1
            file.write(msgspec.json.encode(conversation) + b"\n")
    print(sum(kinds.values()), "conversations", dict(kinds.most_common()))


if __name__ == "__main__":
    asyncio.run(main())
