"""A server process for the tests: agents with a pure tool that takes a moment, on a journal that several share."""

from __future__ import annotations

import asyncio
import sys

from treadle import Agent, ScriptedModel, tool
from treadle._journal.postgres import PostgresJournal
from treadle._server import ServerSettings, make_server
from treadle._types.messages import ToolMessage

DSN, PORT = sys.argv[1:]
STEPS = 6


@tool(effect="pure")
async def nap(n: int) -> str:
    """Wait a moment."""
    await asyncio.sleep(0.15)
    return f"slept {n}"


def script(request):
    done = sum(isinstance(message, ToolMessage) for message in request.messages)
    return f"Done after {done}." if done == STEPS else {"name": "nap", "args": {"n": done}}


async def main() -> None:
    settings = ServerSettings(takeover=1.0, poll=0.2, requests_per_second=10_000, request_burst=10_000)
    agent = Agent(ScriptedModel(script), [nap])
    server = make_server({"agent": agent}, PostgresJournal(DSN, lease=3.0), port=int(PORT), settings=settings)
    await server.serve()


asyncio.run(main())
