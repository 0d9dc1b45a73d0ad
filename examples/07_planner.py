"""Thinking aids are plug-ins: a plan with done flags, kept up to date while the agent works. Each call is counted on its own."""

import asyncio

from treadle import Agent, ScriptedModel, tool
from treadle._types.events import PlanChanged


@tool
async def look_up(what: str) -> str:
    """Look something up."""
    return f"{what}: found"


def think(request):  # a stand-in for a model: what it says depends on who asks
    if request.component == "planner":
        done = len(request.messages) > 2 or "found" in str(request.messages)
        steps = [{"text": "look it up", "done": done}, {"text": "answer", "done": False}]
        return {"name": request.tools[0].name, "args": {"steps": steps}} if request.tools else "[]"
    seen = "found" in str(request.messages)
    if seen:
        return '{"thought": "I have it", "action": "final_answer", "args": {}, "final_answer": "Found.", "task_successful": true}'
    return (
        '{"thought": "look", "action": "look_up", "args": {"what": "it"}, "final_answer": "", "task_successful": false}'
    )


async def main() -> None:
    agent = Agent(ScriptedModel(think), tools=[look_up], preset="planned")
    async for event in agent.stream("Find it"):
        if isinstance(event, PlanChanged):
            print("plan:", [(step.text, step.done) for step in event.steps])
    result = await agent.run("Find it")
    print(result.answer, {name: spent["calls"] for name, spent in result.metadata["components"].items()})
    assert result.answer == "Found."


asyncio.run(main())
