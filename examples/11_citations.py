"""Retrieval over a local knowledge base, with citations that resolve to a passage; one that does not exist is removed."""

import tempfile
from pathlib import Path

from treadle import Agent, ScriptedModel
from treadle._tools.builtin.knowledge.retrieval import KnowledgeBase, retrieval
from treadle.plugins import Citations

NOTES = {
    "weather": "In May it rained on twelve days. In June it stayed dry.",
    "garden": "The roses came out in the last week of May.",
}

with tempfile.TemporaryDirectory() as folder:
    base = KnowledgeBase(Path(folder) / "notes.db")
    for name, text in NOTES.items():
        base.add(text, name=name)

    model = ScriptedModel(
        [
            {"name": "retrieval", "args": {"query": "rain in May"}},
            "It rained on twelve days [ID:1]. It also snowed [ID:99].",
        ]
    )
    agent = Agent(model, tools=[retrieval(base.path, about="notes of a gardener")], plugins=[Citations()])
    result = agent.run_sync("How often did it rain in May?")

    print(result.answer)
    print(result.metadata["reports"]["citations"])
    assert "[ID:1]" in result.answer
    assert "[ID:99]" not in result.answer
