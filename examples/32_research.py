"""Research over a knowledge base: a plan, searches, notes with sources, and an answer whose citations are checked."""

import json
import re
import tempfile
from pathlib import Path

from treadle import Agent, KnowledgeBase, ScriptedModel, builtin

PAGES = {
    "Anna Weber": "Anna Weber was an Austrian writer. She was born in Graz in 1931 and wrote four novels.",
    "Graz": "Graz is the second largest city of Austria. It has 291,134 inhabitants.",
}


def model(request):
    """In place of a model. It cites the wrong page once, and makes something up."""
    if request.component == "research":
        return json.dumps({"questions": ["Where was Anna Weber born?", "How many people live there?"]})
    said = " ".join(str(message.content) for message in request.messages if message.role == "tool")
    found = {name: number for number, name in re.findall(r'"id":(\d+),"document":"([^"]+)"', said)}
    turn = sum(message.role == "assistant" for message in request.messages)
    if turn < 2:
        return {"name": "retrieval", "args": {"query": ("Anna Weber born", "Graz inhabitants")[turn]}}
    if turn == 2:
        note = {"fact": "Graz has 291,134 inhabitants.", "source": int(found["Graz"])}
        return {"name": "take_note", "args": note}
    return (
        f"Anna Weber was born in Graz in 1931 [ID:{found['Graz']}]. Graz has 291,134 inhabitants [ID:{found['Graz']}]. "
        f"She won a prize in 1960 [ID:{found['Anna Weber']}]."
    )


with tempfile.TemporaryDirectory() as folder:
    base = KnowledgeBase(Path(folder) / "pages.db")
    for name, text in PAGES.items():
        base.add(text, name=name)
    tools = [builtin("retrieval", path=base.path, about="pages about Austria")]
    agent = Agent(ScriptedModel(model), tools, preset="research")
    result = agent.run_sync("How many people live where Anna Weber was born?")

print(result.answer)
print(result.metadata["reports"]["research"])
assert "She won a prize in 1960 [no source]." in result.answer
assert result.answer.count("[ID:") == 2
