"""A question answered with a tool. Run it as it is, or name a model: python 01_first_agent.py ollama:llama3.2"""

import sys

from treadle import Agent, ScriptedModel, tool


@tool
def population(city: str) -> int:
    """How many people live in a city."""
    return {"Oslo": 717_710, "Bergen": 291_940}.get(city, 0)


SCRIPT = [{"name": "population", "args": {"city": "Oslo"}}, "About 718 thousand people live in Oslo."]
model = sys.argv[1] if len(sys.argv) > 1 else ScriptedModel(SCRIPT)

result = Agent(model, tools=[population]).run_sync("How many people live in Oslo?")
print(result.answer)
for step in result.steps:
    print(f"  {step.tool}({step.args}) -> {step.observation}")
assert result.tools_used == ["population"]
