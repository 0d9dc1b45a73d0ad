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
from treadle.plugins import BackgroundAgents

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


@tool
async def look_around(place: str) -> str:
    """An effect that must not happen twice, in the work of another agent."""
    with Path(EFFECTS).open("a") as file:  # noqa: ASYNC230 - a line of text
        file.write(f"{place}\n")
    return f"looked in the {place}"


@tool(effect="pure", timeout=None)
async def search(place: str) -> str:
    """Take long the first time: until the worker is killed."""
    started = Path(f"{EFFECTS}.{place}")
    if not started.exists():  # noqa: ASYNC240 - a file of a few bytes
        started.write_text(str(os.getpid()))  # noqa: ASYNC240
        await asyncio.sleep(600)
    return "found"


def scout(request):
    """The agent that the work is given to."""
    results = [m for m in request.messages if isinstance(m, ToolMessage)]
    asked = " ".join(str(m.content) for m in request.messages if m.role == "user")
    place = "attic" if "attic" in asked else "cellar"
    if len(results) < 2:
        return {"name": ("look_around", "search")[len(results)], "args": {"place": place}}
    return f"It is in the {place}."


def hands_over(request):
    return {"name": "transfer_to_scout", "args": {"reason": "it knows the attic"}}


def goes_on(request):
    words = [str(getattr(message, "content", "")) for message in request.messages]
    if any("has ended" in text for text in words):
        return "told: " + words[-1].partition("\n")[2]
    return {"name": "start_scout", "args": {"task": "look in the cellar"}} if len(words) < 2 else "Too early."


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
    helper = Agent(ScriptedModel(scout), [look_around, search], name="scout")
    over = Agent(ScriptedModel(hands_over), [helper.as_handoff()], name="over")
    besides = Agent(ScriptedModel(goes_on), None, plugins=[BackgroundAgents(helper)], name="besides")
    agents = {"agent": agent, "over": over, "besides": besides}
    client = await Client.connect(TARGET)
    print("ready", os.getpid(), flush=True)
    await temporal_worker(client, agents, journal, at_once=40).run()


asyncio.run(main())
