"""DAG mode: a plan whose independent steps run side by side, judged at the end; the picture comes from the log."""

import asyncio

from treadle import DagAgent, ScriptedModel, plan_diagram, tool


@tool(effect="pure")
async def population(city: str) -> str:
    """How many people live in a city."""
    await asyncio.sleep(0.2)
    return {"Oslo": "718 thousand", "Bergen": "292 thousand"}[city]


PLAN = [
    {"id": "oslo", "task": "How many people live in Oslo?", "dependencies": []},
    {"id": "bergen", "task": "How many people live in Bergen?", "dependencies": []},
    {"id": "compare", "task": "Which is larger: $oslo or $bergen?", "dependencies": ["oslo", "bergen"]},
]


def think(request):
    if request.component == "planner":
        return {"name": "make_plan", "args": {"steps": PLAN}}
    if request.component == "analyzer":
        return {"name": "judge", "args": {"achieved": True, "confidence": 0.95, "final_answer": "Oslo is larger."}}
    text = str(request.messages)
    city = "Oslo" if "live in Oslo" in text else "Bergen" if "live in Bergen" in text else ""
    return (
        "Oslo"
        if not city
        else {"name": "population", "args": {"city": city}}
        if "thousand" not in text
        else text.split("content='")[-1][:12]
    )


async def main() -> None:
    run = DagAgent(ScriptedModel(think), tools=[population]).start("Which city is larger, Oslo or Bergen?")
    result = await run
    print(result.answer, f"in {result.elapsed:.2f} s")
    print(plan_diagram(run.records))
    assert result.metadata["dag"]["steps"]["compare"]["status"] == "completed"


asyncio.run(main())
