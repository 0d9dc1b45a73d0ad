"""python -m training.build OUT.jsonl[.xz] [--scale 1.0] [--seed 1] [--bfcl DATA] [--held OUT.jsonl[.xz]] [--report]

Conversations to learn from, one a line.
"""

from __future__ import annotations

import argparse
import asyncio
import lzma
import random
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec

from training import bfcl, slips, written
from training.render import Conversation, render
from training.report import distribution
from training.scenario import Act, Scenario, deal
from training.scenes import (
    builtin_tasks,
    by_example,
    chains,
    desk,
    foreign,
    ids,
    listings,
    lookups,
    mishaps,
    nearly,
    nested,
    plain_tasks,
    plans,
    recovery,
    talks,
    typed,
)
from training.scenes.talk import KNOWN, questions
from training.worlds.listings import held_out as listing_held_out
from training.worlds.listings import listings as listing_kinds
from training.worlds.tools import Facts

Make = Callable[[random.Random, Facts], Scenario]
MIXTURE: tuple[tuple[Make, int], ...] = (
    (lookups.single, 500),
    (lookups.foreign, 380),
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
    (mishaps.hostile, 360),
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
    (plans.long_task, 900),
    (plans.carried, 200),
    (plans.best_of, 300),
    (typed.typed_call, 500),
    (typed.typed_among, 500),
    (typed.detail_missing, 160),
    (typed.detail_given_later, 120),
    (recovery.old_number, 260),
    (recovery.second_source, 260),
    (recovery.moved, 160),
    (recovery.denied, 140),
    (recovery.still_down, 140),
    (recovery.signed_in, 200),
    (recovery.pages, 300),
    (recovery.wrong_form, 160),
    (recovery.two_meant, 160),
    (nearly.nearly, 240),
    (nearly.fits_after_all, 360),
    (talks.recall, 200),
    (talks.about_it, 260),
    (talks.long_talk, 240),
    (talks.steered_long, 200),
    (talks.compacted, 260),
    (foreign.foreign_chain, 340),
    (foreign.foreign_sum, 200),
    (foreign.foreign_compare, 120),
    (foreign.foreign_message, 100),
    (foreign.foreign_misspelt, 200),
    (foreign.world_sum, 260),
)
"""How many of each, at scale 1. Chains and recovery are half of it: what small models are worst at."""
AMONG_OTHERS = 0.4
"""Part of the leaderboard's rows that stand among functions of other rows; the second time all of them do."""
MADE_UP = 0.18
"""Of the mixture above: written worlds take the place of the rest."""
WRITTEN = {"single": 1.5, "choose": 1.5, "chain": 1.5, "recovery": 1.5, "none": 0.5, "unable": 0.45}
"""How often each task of a written world is asked, in other words and among other tools. Of those without a call there
are many."""
EDGES = {"single": 2.0, "choose": 3.0, "chain": 3.0, "recovery": 3.0, "none": 1.0, "unable": 1.5}
"""The same for worlds that were written for what models of this size get wrong (`edge_*`)."""
HASTY = 0.12
"""Part of the scenarios with ids that begin with the last call and an invented id, and go on after its refusal."""
FILES, DESK, TALK, KNOWN_AND_SUM, MIXED, LISTINGS = 260, 500, 2200, 200, 400, 3600
BY_EXAMPLE, HELD_LISTINGS = 1200, 400
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
    few = (1, 1, 1, 2, 3, 3, 4, 4, 5, 5, 5, 5, 6, 6, 7, 7, 8, 8, 9, 10, 10, 12, 14)
    return r.choice(few) if r.random() < 0.9 else r.choice((18, 24, 30, 40, 60))


def _is_edge(world: written.World) -> bool:
    return world.name.startswith("edge_")


async def held_conversations(seed: int) -> AsyncIterator[Conversation]:
    """Each task of the worlds that are held out, once."""
    r = random.Random(seed)
    for scenario in written.scenarios(r, 1, [world for world in written.worlds() if written.held_out(world)]):
        if (rendered := await render(r, Facts(r), scenario, "", 0)) is not None:
            yield rendered


async def held_listings(seed: int) -> AsyncIterator[Conversation]:
    """Rows to be read in the kinds of listings that are held out."""
    r = random.Random(seed)
    kinds = [kind for kind in listing_kinds() if listing_held_out(kind)]
    for _ in range(HELD_LISTINGS):
        if (rendered := await render(r, Facts(r), listings.to_record(r, kinds), "", 5)) is not None:
            yield rendered


async def conversations(
    scale: float, seed: int, data: Path | None, dropped: dict[str, int] | None = None, hold_out: bool = False
) -> AsyncIterator[Conversation]:
    """`dropped` gets the kinds of those that the engine did not take as they are: mistakes of this generator. With
    `hold_out` nothing of the worlds that are held out is in it."""
    r = random.Random(seed)
    lost: Counter[str] = Counter()

    async def one(make: Callable[[Facts], Scenario], name: str, count: int | None = None) -> Conversation | None:
        facts, scenario = deal(r, make)
        if r.random() < HASTY:
            scenario = slips.begun_at_the_end(r, scenario)
        system = r.choice(SYSTEMS) if r.random() < 0.2 else ""
        rendered = await render(r, facts, scenario, system, tool_count(r) if count is None else count)
        if rendered is None:
            lost[name] += 1
        return rendered

    kinds = [kind for kind in listing_kinds() if not (hold_out and listing_held_out(kind))]
    learnt = [world for world in written.worlds() if not (hold_out and written.held_out(world))]
    with tempfile.TemporaryDirectory() as folder:
        plan: list[tuple[Callable[[Facts], Scenario], str]] = []
        for make, number in MIXTURE:
            plan += [(lambda facts, make=make: make(r, facts), make.__name__)] * round(number * scale * MADE_UP)
        plan += [(lambda facts: builtin_tasks.files_task(r, facts, Path(folder) / "work"), "files")] * round(
            FILES * scale
        )
        plan += [(lambda facts: listings.listing(r, facts, kinds), "listing")] * round(LISTINGS * scale)
        plan += [(lambda facts: by_example.by_example(r, facts), "by_example")] * round(BY_EXAMPLE * scale)
        plan += [(lambda facts: desk.desk(r, facts, Path(folder) / "desk"), "desk")] * round(DESK * scale)
        plan += [
            (lambda facts, question=question: plain_tasks.talk(r, facts, question), "talk")
            for question in questions(r, round(TALK * scale))
        ]
        plan += [(lambda facts: plain_tasks.mixed(r, facts, r.choice(KNOWN)), "mixed")] * round(MIXED * scale)
        plan += [(lambda facts: plain_tasks.known_and_sum(r, facts, r.choice(KNOWN)), "known_and_sum")] * round(
            KNOWN_AND_SUM * scale
        )
        for often, edges in (WRITTEN, False), (EDGES, True):
            times = {kind: number * scale for kind, number in often.items()}
            of = [world for world in learnt if _is_edge(world) == edges]
            plan += [
                (lambda facts, scenario=scenario: scenario, scenario.kind)
                for scenario in written.scenarios(r, times, of, learnt)
            ]
        r.shuffle(plan)
        for make, name in plan:
            rendered = await one(make, name)
            if rendered is not None:
                yield rendered
        if data is not None:
            rows = list(bfcl.training(data))
            for row, again in [(row, again) for again in (False, True) for row in rows]:
                if (scale < 1 and r.random() > scale) or (row.truth is None and r.random() < (0.7 if again else 0.3)):
                    continue
                if again or r.random() < AMONG_OTHERS:
                    row = bfcl.among(r, row, rows, r.choice((2, 4, 6, 10, 16)))
                scenario = bfcl.scenario(r, row)
                rendered = await render_row(r, row, scenario)
                if rendered is None:
                    lost[scenario.kind] += 1
                else:
                    yield rendered
    print("dropped", dict(lost))
    if dropped is not None:
        dropped.update(lost)


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


async def _store(path: Path, made: AsyncIterator[Conversation]) -> list[Conversation]:
    stored: list[Conversation] = []
    with (lzma.open if path.suffix == ".xz" else open)(path, "wb") as file:
        async for conversation in made:
            stored.append(conversation)
            file.write(msgspec.json.encode(conversation) + b"\n")
    print(len(stored), "conversations in", path.name)
    return stored


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path, help="a name ending in .xz is compressed")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bfcl", type=Path)
    parser.add_argument(
        "--held", type=Path, help="every tenth written world goes here, every tenth kind of listing into listings-..."
    )
    parser.add_argument("--report", action="store_true", help="what was made: kinds, languages, steps, tools, lengths")
    options = parser.parse_args()
    made = await _store(
        options.out, conversations(options.scale, options.seed, options.bfcl, hold_out=bool(options.held))
    )
    if options.held:
        await _store(options.held, held_conversations(options.seed))
        await _store(options.held.with_name(f"listings-{options.held.name}"), held_listings(options.seed))
    if options.report:
        print(distribution(made))


if __name__ == "__main__":
    asyncio.run(main())
