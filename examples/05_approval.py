"""A tool that needs a person's word. The run pauses, durably; another process may resume it after a restart."""

import asyncio
import tempfile
from pathlib import Path

from treadle import Agent, ScriptedModel, open_journal, tool


@tool(approval="ask")
async def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"


async def main(folder: Path) -> None:
    journal = open_journal(str(folder / "journal.db"))
    paused = await Agent(ScriptedModel([{"name": "pay", "args": {"amount": 5}}]), tools=[pay], journal=journal).run(
        "Pay 5"
    )
    print("stopped:", paused.stop_reason)

    [waiting] = paused.pending
    print("asks for:", waiting.tool, waiting.args, "because of", waiting.why)

    later = Agent(ScriptedModel(["Paid."]), tools=[pay], journal=journal)
    result = await later.resume(paused.run_id, approve={waiting.call_id: True})
    print(result.answer, [step.observation for step in result.steps])
    assert result.steps[0].observation == "paid 5"
    await journal.aclose()


with tempfile.TemporaryDirectory() as name:
    asyncio.run(main(Path(name)))
