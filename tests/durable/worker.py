"""A worker process for the tests: an agent with a pure, an unsafe and an approved tool; effects are lines in a file."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from temporalio.client import Client

from treadle import Agent, ScriptedModel, external_tool, tool
from treadle._durable.temporal import temporal_worker
from treadle._journal.postgres import PostgresJournal
from treadle._types.messages import ToolMessage

TARGET, DSN, EFFECTS = sys.argv[1:4]


@tool(effect="pure", timeout=None)
async def nap(n: int) -> str:
    """Wait a moment."""
    await asyncio.sleep(0.3)
    return f"slept {n}"


@tool
async def pay(run: str) -> str:
    """An effect that must not happen twice."""
    with Path(EFFECTS).open("a") as file:  # noqa: ASYNC230 - a line of text
        file.write(f"{run}\n")
    await asyncio.sleep(0.1)
    return "paid"


@tool(approval="ask")
async def ask(what: str) -> str:
    """Needs a person."""
    return f"allowed {what}"


def script(request):
    results = [m for m in request.messages if isinstance(m, ToolMessage)]
    question = str(request.messages[0].content)
    if question == "approve":
        return {"name": "ask", "args": {"what": "it"}} if not results else f"done: {results[-1].content}"
    if question == "external":
        return {"name": "look", "args": {}} if not results else f"done: {results[-1].content}"
    if question == "long":
        return {"name": "nap", "args": {"n": len(results)}}
    plan = ["nap", "pay", "nap", "nap"]
    if len(results) == len(plan):
        return "done: " + question
    name = plan[len(results)]
    return {"name": name, "args": {"run": question} if name == "pay" else {"n": len(results)}}


async def main() -> None:
    journal = PostgresJournal(DSN, lease=3.0)
    look = external_tool("look", "Looks.")
    agent = Agent(ScriptedModel(script), [nap, pay, ask, look], max_iterations=1000)
    client = await Client.connect(TARGET)
    print("ready", os.getpid(), flush=True)
    await temporal_worker(client, {"agent": agent}, journal, at_once=40).run()


asyncio.run(main())
