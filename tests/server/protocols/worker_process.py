"""A server process for the tests: an agent that acts once, then waits for a file, then answers."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from treadle import Agent, ScriptedModel, tool
from treadle._journal import open_journal
from treadle._journal.postgres import PostgresJournal
from treadle._server import ServerSettings, make_server
from treadle._types.messages import ToolMessage

JOURNAL, PORT, FOLDER = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
SCHEMA = sys.argv[4] if len(sys.argv) > 4 else "treadle"


@tool
async def act() -> str:
    """Does something that must not be done twice."""
    with (FOLDER / "acts").open("a", encoding="ascii") as file:
        file.write("acted\n")
    return "acted"


@tool(effect="pure")
async def wait() -> str:
    """Waits."""
    with (FOLDER / "waits").open("a", encoding="ascii") as file:
        file.write("waits\n")
    while not (FOLDER / "go").exists():  # noqa: ASYNC110 - whoever makes it is another process
        await asyncio.sleep(0.02)
    return "waited"


def script(request):
    done = sum(isinstance(message, ToolMessage) for message in request.messages)
    return ({"name": "act", "args": {}}, {"name": "wait", "args": {}}, "It is done.")[done]


async def main() -> None:
    postgres = JOURNAL.startswith("postgres")
    journal = PostgresJournal(JOURNAL, lease=3.0, schema=SCHEMA) if postgres else open_journal(JOURNAL)
    settings = ServerSettings(takeover=1.0, poll=0.2, grace=0.2, requests_per_second=10_000, request_burst=10_000)
    server = make_server(
        {"worker": Agent(ScriptedModel(script, chunk=4), [act, wait])}, journal, port=PORT, settings=settings
    )
    await server.serve()


asyncio.run(main())
