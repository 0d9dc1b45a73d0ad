"""A process whose runs share a budget with those of others: `spender_process.py KIND PLACE SCHEMA RUNS`.

It prints how many requests its model got.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

from treadle import Agent, BudgetExhaustedError, Journal, ScriptedModel, SharedBudget, tool


@tool(effect="pure")
async def look() -> str:
    """Look."""
    return "nothing"


async def main(kind: str, place: str, schema: str, runs: int) -> None:
    if kind == "postgres":
        from treadle._journal.postgres import PostgresJournal

        journal: Journal = PostgresJournal(place, schema=schema)
    else:
        from treadle._journal.sqlite import SqliteJournal

        journal = SqliteJournal(place)
    model = ScriptedModel([{"name": "look", "args": {}}], repeat_last=True)
    budgets = [
        SharedBudget(by="tenant", per="day", requests=60),
        SharedBudget(by="user", per="ever", tokens=1_000_000),
    ]
    agent = Agent(model, [look], journal=journal, budgets=budgets, max_tokens=20, max_iterations=30)

    async def one(number: int) -> None:
        with suppress(BudgetExhaustedError):
            await agent.run("q", user=f"acme/{number}")

    await asyncio.gather(*(one(number) for number in range(runs)))
    await journal.aclose()
    print(len(model.requests))


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
