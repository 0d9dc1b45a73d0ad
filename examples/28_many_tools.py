"""Tool search by meaning: of 100 tools the nearest are offered, and the model can search for more."""

from treadle import Agent, ScriptedModel, Tool
from treadle.plugins import ToolSearch

OBJECTS = ("invoice", "flight", "parcel", "song", "recipe", "server", "photo", "contact", "hotel", "ticket")
ACTIONS = ("create", "delete", "update", "list", "search", "export", "share", "archive", "copy", "approve")
SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}


def done(id: str) -> str:
    return f"{id}: done"


TOOLS = [
    Tool(f"{action}_{thing}", f"{action.title()} the {thing}.", SCHEMA, done, effect="pure")
    for thing in OBJECTS
    for action in ACTIONS
]


def vectors(texts: list[str]) -> list[list[float]]:
    """In place of an embedding model, so that this program needs nothing: `ToolSearch()` uses a real one."""
    return [[float(word in text.lower()) for word in (*OBJECTS, *ACTIONS)] for text in texts]


model = ScriptedModel(
    [
        {"name": "delete_flight", "args": {"id": "LH 12"}},
        {"name": "find_tools", "args": {"query": "approve an invoice"}},
        {"name": "approve_invoice", "args": {"id": "R-7"}},
        "The flight is deleted and the invoice approved.",
    ]
)
agent = Agent(model, tools=TOOLS, plugins=[ToolSearch(vectors)])
result = agent.run_sync("Delete my flight, then deal with the bill.")
for request in model.requests:
    print(len(request.tools), "tools:", ", ".join(tool.name for tool in request.tools[:4]), "...")
print(result.answer)
assert len(model.requests[0].tools) == 7
assert [step.error for step in result.steps] == ["", "", ""]
