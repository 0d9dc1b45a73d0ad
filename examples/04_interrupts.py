"""Say something while the run works. It is read between two steps, never between a call and its result."""

import asyncio

from treadle import Agent, ScriptedModel, tool


@tool
async def price(item: str) -> str:
    """The price of an item."""
    await asyncio.sleep(0.1)
    return f"{item}: 10 dollars"


async def main() -> None:
    model = ScriptedModel([{"name": "price", "args": {"item": "lamp"}}, "10 dollars, about 9 euros."])
    run = Agent(model, tools=[price]).start("What does the lamp cost?")
    await asyncio.sleep(0.05)  # the tool is at work
    unread = run.send("never mind")
    run.recall(unread)  # taken back before it was read
    run.send("and in euros?")
    result = await run
    print(result.answer)
    for message in result.messages:
        print(" ", type(message).__name__, getattr(message, "content", getattr(message, "text", "")))
    assert any("[USER INTERRUPT]" in str(getattr(m, "content", "")) for m in result.messages)

    run = Agent(ScriptedModel([{"name": "price", "args": {"item": "lamp"}}]), tools=[price]).start("And now?")
    await asyncio.sleep(0.05)
    run.cancel()
    assert (await run).stop_reason == "cancelled"


asyncio.run(main())
