"""kill -9 in the middle of a run, then go on: finished work is kept, an unsafe call is never made twice."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from treadle import Agent, ScriptedModel, open_journal, tool

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp())
FIRST_TIME = len(sys.argv) > 1


@tool(effect="pure")
async def read(n: int) -> str:
    """Read something."""
    return f"page {n}"


@tool  # unsafe unless said otherwise
async def send_mail(to: str) -> str:
    """Send a mail."""
    with (FOLDER / "mails").open("a") as file:
        file.write(f"{to}\n")
    if FIRST_TIME:
        os.kill(os.getpid(), signal.SIGKILL)  # the power goes out just after the mail left
    return "sent"


def script(request):
    text = str(request.messages)
    if "page 1" not in text:
        return {"name": "read", "args": {"n": 1}}
    return (
        {"name": "send_mail", "args": {"to": "ada"}}
        if "send_mail" not in text
        else "The mail may have been sent already."
    )


async def main() -> None:
    journal = open_journal(str(FOLDER / "journal.db"))
    agent = Agent(ScriptedModel(script), tools=[read, send_mail], journal=journal)
    result = await (agent.run("Mail Ada", run_id="mail") if FIRST_TIME else agent.resume("mail"))
    print([(step.tool, step.error or "ok") for step in result.steps])
    assert result.steps[1].error == "unknown_outcome"
    assert (FOLDER / "mails").read_text() == "ada\n"
    await journal.aclose()


if not FIRST_TIME:
    assert subprocess.run([sys.executable, __file__, str(FOLDER)]).returncode != 0
asyncio.run(main())
