"""LangGraph with its SQLite checkpointer, for `behaviour.py`: MODE is ask, decide, killed or again."""

from __future__ import annotations

import sys

from effect import look_up
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

MODE = sys.argv[1]


@tool
def price(item: str) -> float:
    """The price of an item in dollars."""
    return look_up(item, MODE)


asks = [HumanInTheLoopMiddleware(interrupt_on={"price": True})] if MODE in ("ask", "decide") else []
with SqliteSaver.from_conn_string("runs.db") as saver:
    agent = create_agent("openai:gpt-5-mini", tools=[price], checkpointer=saver, middleware=asks)
    config = {"configurable": {"thread_id": "lamp"}}
    given = {
        "ask": {"messages": [{"role": "user", "content": "What does the lamp cost?"}]},
        "killed": {"messages": [{"role": "user", "content": "What does the lamp cost?"}]},
        "decide": Command(resume={"decisions": [{"type": "approve"}]}),
        "again": None,
    }[MODE]
    state = agent.invoke(given, config, durability="sync")
    print("waits" if state.get("__interrupt__") else state["messages"][-1].content)
