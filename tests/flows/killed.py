"""A program that kills itself inside the work of another agent, the first time: `killed.py KIND JOURNAL MARK`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from treadle import Agent, ScriptedModel, tool
from treadle._types.errors import RunNotFoundError
from treadle.plugins import BackgroundAgents

KIND, JOURNAL, MARK = sys.argv[1:4]


@tool(effect="pure")
def look() -> str:
    """Look."""
    if not Path(MARK).exists():
        Path(MARK).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "found"


def inner(request: Any) -> Any:
    return {"name": "look", "args": {}} if len(request.messages) < 2 else "It is in the attic."


def outer(request: Any) -> Any:
    words = [str(getattr(message, "content", "")) for message in request.messages]
    if KIND == "handoff":
        return {"name": "transfer_to_scout", "args": {"reason": "it knows"}}
    if any("has ended" in text for text in words):
        return words[-1].partition("\n")[2]
    return {"name": "start_scout", "args": {"task": "look"}} if len(words) < 2 else "Too early."


async def main() -> None:
    scout = Agent(ScriptedModel(inner), [look], name="scout")
    tools, plugins = ([scout.as_handoff()], []) if KIND == "handoff" else (None, [BackgroundAgents(scout)])
    async with Agent(ScriptedModel(outer), tools, plugins=plugins, journal=JOURNAL) as agent:
        try:
            result = await agent.resume("r")
        except RunNotFoundError:
            result = await agent.run("Where is it?", run_id="r")
        print(result.answer, result.usage.requests)


asyncio.run(main())
