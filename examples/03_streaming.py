"""Three ways to watch: typed events, text pieces, and (delta, tokens) pairs."""

import asyncio

from treadle import Agent, ScriptedModel, tool
from treadle.events import AnswerDelta, ToolDone


@tool
def clock() -> str:
    """The time."""
    return "12:00"


def agent() -> Agent:
    return Agent(
        ScriptedModel([{"name": "clock", "args": {}}, "brief", "It is noon, exactly."]),
        tools=[clock],
        preset="two_phase",
    )


async def events() -> str:
    answer = ""
    async for event in agent().stream("What time is it?"):
        if isinstance(event, ToolDone):
            print("tool:", event.name, event.content)
        elif isinstance(event, AnswerDelta):
            answer += event.text
            print(event.text, end="", flush=True)
    print()
    return answer


assert asyncio.run(events()) == "It is noon, exactly."

for piece in agent().text("What time is it?"):  # a plain generator: works in scripts and notebooks
    print(piece, end="")
print()


async def pairs() -> None:
    async for delta, tokens in agent().deltas("What time is it?"):
        print(repr(delta), tokens)


asyncio.run(pairs())
