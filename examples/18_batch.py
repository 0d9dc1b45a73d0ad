"""A batch job with checkpoints: a run per item under an id of its own; started again, it does only what is left."""

import asyncio
import sys
import tempfile
from pathlib import Path

from treadle import Agent, Budget, RunNotFoundError, ScriptedModel, open_journal, tool

REVIEWS = {"r1": "Broke after a day.", "r2": "Lovely lamp!", "r3": "It arrived. It is a lamp."}
AT_ONCE = 2
asked: list[str] = []


@tool(effect="pure")
def review(id: str) -> str:
    """The text of a review."""
    asked.append(id)
    return REVIEWS[id]


def script(request):  # stands for a model
    text = str(request.messages)
    name = next(id for id in REVIEWS if f"Judge {id}" in text)
    if REVIEWS[name] not in text:
        return {"name": "review", "args": {"id": name}}
    return {"r1": "negative", "r2": "positive", "r3": "neutral"}[name]


async def judge(agent: Agent, id: str, places: asyncio.Semaphore) -> tuple[str, str]:
    async with places:
        try:  # finished: its result again, without a request; interrupted: it goes on where it was
            result = await agent.resume(f"review-{id}")
        except RunNotFoundError:
            result = await agent.run(f"Judge {id}", run_id=f"review-{id}")
    return id, result.answer if result.success else f"failed: {result.stop_reason}"


async def batch(path: Path, ids: list[str]) -> dict[str, str]:
    journal = open_journal(str(path))
    agent = Agent(ScriptedModel(script), tools=[review], journal=journal, budget=Budget(requests=5))
    places = asyncio.Semaphore(AT_ONCE)
    done = dict(await asyncio.gather(*(judge(agent, id, places) for id in ids)))
    await journal.aclose()
    return done


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "batch.db")
    asyncio.run(batch(path, ["r1", "r2"]))  # the job was stopped after two
    verdicts = asyncio.run(batch(path, list(REVIEWS)))
print(verdicts, "looked up:", asked, file=sys.stdout)
assert verdicts == {"r1": "negative", "r2": "positive", "r3": "neutral"}
assert sorted(asked) == ["r1", "r2", "r3"]  # each once
