"""Typed answers, and structured calls of any model by the strongest means it has."""

import asyncio
from dataclasses import dataclass

from treadle import Agent, ScriptedModel, structured_llm_call, tool


@dataclass
class City:
    name: str
    people: int


@tool
def population(city: str) -> int:
    """How many people live in a city."""
    return 717_710


model = ScriptedModel([{"name": "population", "args": {"city": "Oslo"}}, '{"name": "Oslo", "people": 717710}'])
result = Agent(model, tools=[population], output_type=City).run_sync("Tell me about Oslo")
print(result.output)
assert result.output == City("Oslo", 717_710)

SCHEMA = {
    "type": "object",
    "properties": {"colours": {"type": "array", "items": {"type": "string"}}},
    "required": ["colours"],
}
plain = ScriptedModel(
    ["Sure! {'colours': ['red', 'blue']}"], abilities={"tool_call": False, "json_mode": False, "json_schema": False}
)
found = asyncio.run(structured_llm_call(plain, "Name two colours", SCHEMA))
print(found.value, "read at level", found.level)
assert found.value == {"colours": ["red", "blue"]}
