"""Serve an agent over HTTP, start a run, follow its events. Needs the extra `server`; open the address for the page."""

import asyncio
import json

import aiohttp

from treadle import Agent, ScriptedModel, make_server, tool


@tool
def clock() -> str:
    """The time."""
    return "12:00"


async def ask(address: str) -> str:
    async with aiohttp.ClientSession(address) as session:
        async with session.post("/api/runs", json={"agent": "clerk", "question": "What time is it?"}) as response:
            run_id = (await response.json())["run_id"]
        async with session.get(f"/api/runs/{run_id}/events") as stream:
            name = ""
            async for raw in stream.content:
                line = raw.decode().strip()
                if line.startswith("event:"):
                    name = line.removeprefix("event:").strip()
                elif line.startswith("data:"):
                    data = json.loads(line.removeprefix("data:"))
                    print(name, data)
                    if name == "done":
                        return data["answer"]
    return ""


async def main() -> None:
    agent = Agent(ScriptedModel([{"name": "clock", "args": {}}, "It is noon."]), tools=[clock])
    ready = asyncio.get_running_loop().create_future()
    server = make_server({"clerk": agent}, "memory:", port=0, on_ready=ready.set_result)
    serving = asyncio.create_task(server.serve())
    try:
        assert await ask(await ready) == "It is noon."
    finally:
        server.should_exit = True
        await serving


asyncio.run(main())
