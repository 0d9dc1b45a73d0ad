"""Memory that a user can see and edit: what is kept, about whom, and from which run."""

import tempfile
from pathlib import Path

from treadle import Agent, ScriptedModel, tool
from treadle.plugins import Memory, MemoryStore


@tool(effect="pure")
def address(name: str) -> str:
    """Look up where somebody lives."""
    return f"{name} lives in Oslo."


with tempfile.TemporaryDirectory() as folder:
    store = MemoryStore(Path(folder) / "memory.db")
    memory = Memory(store, rank="text")
    replies = [{"name": "address", "args": {"name": "Ann"}}, "You live in Oslo.", "Ann lives in Oslo."]
    first = Agent(ScriptedModel(replies), tools=[address], plugins=[memory])
    result = first.run_sync("Where do I live?", user="ann")

    (memo,) = store.all("ann")
    print(f"{memo.id}: about {memo.user}, from run {memo.run[:8]}: {memo.summary}")
    assert memo.run == result.run_id

    store.edit(memo.id, "Ann lives in Bergen.")
    model = ScriptedModel(["In Bergen."])
    second = Agent(model, tools=[address], plugins=[memory])
    second.run_sync("Where does Ann live now?", user="ann")
    assert "Ann lives in Bergen." in str(model.requests[0].messages)

    assert store.forget("ann") == 1
    assert store.users() == {}
