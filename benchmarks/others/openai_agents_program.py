"""The OpenAI Agents SDK with its SQLite session, for `behaviour.py`: MODE is ask, decide, killed or again."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from agents import Agent, Runner, RunState, SQLiteSession, function_tool, set_tracing_disabled
from effect import look_up

MODE = sys.argv[1]
KEPT = Path("state.json")
set_tracing_disabled(True)


@function_tool(needs_approval=MODE in ("ask", "decide"))
def price(item: str) -> float:
    """The price of an item in dollars."""
    return look_up(item, MODE)


async def main(kept: dict[str, Any]) -> dict[str, Any]:
    agent = Agent(name="clerk", model="gpt-5-mini", tools=[price])
    session = SQLiteSession("lamp", "session.db")
    if MODE == "decide":
        state = await RunState.from_json(agent, kept)
        for waiting in state.get_interruptions():
            state.approve(waiting)
        result = await Runner.run(agent, state)
    else:
        result = await Runner.run(agent, "What does the lamp cost?", session=None if MODE == "ask" else session)
    print("waits" if result.interruptions else result.final_output)
    return result.to_state().to_json()


state = asyncio.run(main(json.loads(KEPT.read_text()) if KEPT.exists() else {}))
KEPT.write_text(json.dumps(state))
