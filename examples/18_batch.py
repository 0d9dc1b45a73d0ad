"""A batch job with checkpoints: a run for each item, under an id of its own; started again, it does only what is left.

Where questions and answers are all you need, `agent.batch(questions, path="answers.jsonl")` does this in one call.
"""

import asyncio
import tempfile
from pathlib import Path

from treadle import Agent, Budget, RunNotFoundError, ScriptedModel, tool

REVIEWS = {"r1": "Broke after a day.", "r2": "Lovely lamp!", "r3": "It arrived. It is a lamp."}
AT_ONCE = 2
asked: list[str] = []


@tool(effect="pure")
def review(name: str) -> str:
    """The text of a review."""
    asked.append(name)
    return REVIEWS[name]


def script(request):  # stands for a model
    text = str(request.messages)
    name = next(name for name in REVIEWS if f"Judge {name}" in text)
    if REVIEWS[name] not in text:
        return {"name": "review", "args": {"name": name}}
    return {"r1": "negative", "r2": "positive", "r3": "neutral"}[name]


async def judge(agent: Agent, name: str, places: asyncio.Semaphore) -> tuple[str, str]:
    async with places:
        try:  # finished: its result again, without a request; interrupted: it goes on where it was
            result = await agent.resume(f"review-{name}")
        except RunNotFoundError:
            result = await agent.run(f"Judge {name}", run_id=f"review-{name}")
    return name, result.answer if result.success else f"failed: {result.stop_reason}"


async def batch(path: Path, names: list[str]) -> dict[str, str]:
    places = asyncio.Semaphore(AT_ONCE)
    async with Agent(ScriptedModel(script), tools=[review], journal=path, budget=Budget(requests=5)) as agent:
        return dict(await asyncio.gather(*(judge(agent, name, places) for name in names)))


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "batch.db")
    asyncio.run(batch(path, ["r1", "r2"]))  # the job was stopped after two
    verdicts = asyncio.run(batch(path, list(REVIEWS)))
print(verdicts, "looked up:", asked)
assert verdicts == {"r1": "negative", "r2": "positive", "r3": "neutral"}
assert sorted(asked) == ["r1", "r2", "r3"]  # each once
