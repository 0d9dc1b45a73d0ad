"""A durable job on Temporal: workers share one journal; a worker that dies is replaced, and the run goes on.

Needs the extra `temporal` and a Temporal server: python 22_temporal.py localhost:7233. Without an address the program
`temporal` is started, or downloaded first. Workers on several machines need a Postgres journal in place of the file.
"""

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path

from temporalio.testing import WorkflowEnvironment

from treadle import Agent, ScriptedModel, TemporalSubmitter, open_journal, temporal_worker, tool


@tool(effect="idempotent", timeout=None)
async def transcode(file: str) -> str:
    """Turn a film into another format."""
    await asyncio.sleep(0.1)
    return f"{file} is ready"


async def job(address: str, journal_path: str) -> None:
    journal = open_journal(journal_path)
    agent = Agent(ScriptedModel([{"name": "transcode", "args": {"file": "a.mov"}}, "The film is ready."]), [transcode])
    submitter = await TemporalSubmitter.connect(address, journal)
    run_id = await submitter.submit("Transcode a.mov", run_id="film-a")  # the same id twice is one job

    # A worker; on another machine: treadle worker --temporal HOST:7233 --journal postgres://... -t tools.py:transcode
    worker = temporal_worker(submitter.client, {"agent": agent}, journal)
    working = asyncio.create_task(worker.run())
    print("ended:", await submitter.wait(run_id))
    result = await Agent(ScriptedModel([]), [transcode], journal=journal).resume(run_id)
    print(result.answer, [step.observation for step in result.steps])
    assert result.answer == "The film is ready."
    await worker.shutdown()
    await working
    await journal.aclose()


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        journal = str(Path(folder, "jobs.db"))
        if len(sys.argv) > 1:
            await job(sys.argv[1], journal)
            return
        program = shutil.which("temporal", path=str(Path(sys.executable).parent)) or shutil.which("temporal")
        async with await WorkflowEnvironment.start_local(dev_server_existing_path=program) as environment:
            await job(environment.client.service_client.config.target_host, journal)


asyncio.run(main())
