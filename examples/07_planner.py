"""A thinking aid: a plan with done flags, updated while the agent works. Its model calls are counted on their own."""

import asyncio
import json

from treadle import Agent, ScriptedModel, tool
from treadle.events import PlanChanged


@tool
async def look_up(what: str) -> str:
    """Look something up."""
    return f"{what}: found"


def think(request):  # a stand-in for a model: what it says depends on who asks
    if request.component == "planner":
        done = len(request.messages) > 2 or "found" in str(request.messages)
        steps = [{"text": "look it up", "done": done}, {"text": "answer", "done": False}]
        return {"name": request.tools[0].name, "args": {"steps": steps}} if request.tools else "[]"
    step = {"thought": "look", "action": "look_up", "args": {"what": "it"}, "task_successful": False}
    if "found" in str(request.messages):
        step |= {"thought": "I have it", "action": "final_answer", "final_answer": "Found.", "task_successful": True}
    return json.dumps(step)


async def main() -> None:
    agent = Agent(ScriptedModel(think), tools=[look_up], preset="planned")
    async for event in agent.stream("Find it"):
        if isinstance(event, PlanChanged):
            print("plan:", [(step.text, step.done) for step in event.steps])
    result = await agent.run("Find it")
    print(result.answer, {name: spent["calls"] for name, spent in result.metadata["components"].items()})
    assert result.answer == "Found."


asyncio.run(main())
