"""Several agents in a row, a typed value between them, and a person before anything leaves the house."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from treadle import Agent, Budget, ScriptedModel, tool


@dataclass
class Facts:
    product: str
    price: float


@tool(effect="pure")
def look_up(product: str) -> str:
    """What is known about a product."""
    return f"{product}: 40 dollars"


@tool(approval="ask", effect="unsafe")
def publish(text: str) -> str:
    """Publish a text on the site."""
    return f"published: {text}"


FOUND, LINE = '{"product": "lamp", "price": 40}', "A lamp for 40 dollars. Let there be light."
researcher = Agent(
    ScriptedModel([{"name": "look_up", "args": {"product": "lamp"}}, FOUND]),
    tools=[look_up],
    output_type=Facts,
    budget=Budget(requests=5),
)
writer = Agent(ScriptedModel([LINE]), tools=None)
editor_script = [{"name": "publish", "args": {"text": LINE}}, "It is on the site."]

facts = researcher.run_sync("Find out about the lamp.").output
draft = writer.run_sync(f"Write one line about {facts.product} for {facts.price} dollars.").answer
with tempfile.TemporaryDirectory() as folder:
    journal = Path(folder, "pipeline.db")  # the pause survives this process
    with Agent(ScriptedModel(editor_script), tools=[publish], journal=journal) as editor:
        paused = editor.run_sync(f"Publish this if it is good: {draft}")
        [waiting] = paused.pending
        print("to be published:", waiting.args["text"])
        shorter = {"allow": True, "args": {"text": "A lamp for 40 dollars."}, "by": "the chief editor"}
        result = editor.resume_sync(paused.run_id, approve={waiting.call_id: shorter})
print(result.answer, result.steps[0].observation)
assert facts == Facts("lamp", 40.0)
assert result.steps[0].observation == "published: A lamp for 40 dollars."
