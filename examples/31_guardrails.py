"""Guardrails: the question is checked beside the first request, the answer before it is given."""

from treadle import Agent, ScriptedModel
from treadle.plugins import Guardrail, forbid_patterns, on_topic


def model(request):
    """In place of a model: the judge of topics, and the agent itself."""
    text = str(request.messages[-1].content)
    if request.component == "topic":
        return "PASS" if "train" in text else "BLOCK: it is not about railways"
    return "Write to ops@example.org." if "who" in text.lower() else "At 12:30, from track 4."


agent = Agent(
    ScriptedModel(model),
    tools=None,
    plugins=[
        Guardrail(on_topic("railways"), name="topic", message="I only know about trains."),
        Guardrail(forbid_patterns(r"\S+@\S+"), on="output", name="addresses", message="I give no addresses."),
    ],
)
for question in ("When does the train leave?", "How do I cook rice?", "Who drives the train?"):
    result = agent.run_sync(question)
    print(f"{question} -> {result.answer}")
    for name, report in result.metadata["reports"].items():
        print(f"   {name}: {report['refused'] or 'passed'}, {report['requests']} requests, {report['tokens']} tokens")
assert result.answer == "I give no addresses."
