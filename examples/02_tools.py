"""Tools from functions, classes and plain JSON Schema; errors the model can act on; objects passed past the model."""

from dataclasses import dataclass
from typing import Annotated, Any

from treadle import Agent, BaseTool, ScriptedModel, Tool, ToolError, ToolParam, ToolResponse, ToolReturn, ToolSpec, tool


@dataclass
class Trip:
    start: str
    end: str


@tool(effect="pure", timeout=5)
async def distance(trip: Trip, unit: Annotated[str, "km or miles"] = "km") -> str:
    """The distance of a trip."""
    if trip.start == trip.end:
        raise ToolError("start and end are the same place")  # always shown to the model
    return f"300 {unit}"


class Connect(BaseTool):
    spec = ToolSpec("connect", "Open the database.", [ToolParam("name", str)], ToolReturn(str))

    def __call__(self, **kwargs: Any) -> ToolResponse:
        return ToolResponse("connected", extras={"handle": object()})  # goes to the next call, never to the model


def query(sql: str, handle: object = None) -> str:
    return f"1 row (handle passed: {handle is not None})"


SQL = {"type": "object", "properties": {"sql": {"type": "string"}}, "required": ["sql"], "additionalProperties": False}
model = ScriptedModel(
    [
        {"name": "distance", "args": {"trip": {"start": "Oslo", "end": "Oslo"}}},
        {"name": "distance", "args": {"trip": {"start": "Oslo", "end": "Bergen"}}},
        {"name": "connect", "args": {"name": "main"}},
        {"name": "query", "args": {"sql": "select 1"}},
        "Done.",
    ]
)
result = Agent(model, tools=[distance, Connect(), Tool("query", "Run SQL.", SQL, query)]).run_sync("Try the tools")
for step in result.steps:
    print(f"{step.tool}: {step.observation}")
assert "handle passed: True" in result.steps[-1].observation
