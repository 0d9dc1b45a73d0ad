"""Retrieval from a local knowledge base. Citations refer to passages; one that refers to none is removed."""

import tempfile
from pathlib import Path

from treadle import Agent, KnowledgeBase, ScriptedModel, builtin
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
    agent = Agent(
        model, tools=[builtin("retrieval", path=base.path, about="notes of a gardener")], plugins=[Citations()]
    )
    result = agent.run_sync("How often did it rain in May?")

    print(result.answer)
    print(result.metadata["reports"]["citations"])
    assert "[ID:1]" in result.answer
    assert "[ID:99]" not in result.answer
