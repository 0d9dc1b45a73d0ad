"""Treadle, for `behaviour.py`: MODE is ask, decide, killed or again."""

from __future__ import annotations

import sys

from effect import look_up

from treadle import Agent, tool

MODE = sys.argv[1]


@tool(approval="ask" if MODE in ("ask", "decide") else "allow")
def price(item: str) -> float:
    """The price of an item in dollars."""
    return look_up(item, MODE)


agent = Agent("openai:gpt-5-mini", tools=[price], journal="runs.db")
if MODE in ("ask", "killed"):
    result = agent.run_sync("What does the lamp cost?", run_id="lamp")
else:
    result = agent.resume_sync("lamp", approve=True if MODE == "decide" else None)
print("waits" if result.pending else result.answer)
