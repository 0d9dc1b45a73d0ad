"""`runs watch`: follow a run of another process through the journal."""

from __future__ import annotations

import argparse
import asyncio

from treadle._cli.display.base import Display
from treadle._cli.display.factory import open_display
from treadle._cli.setup import exit_codes
from treadle._engine.result import result_of
from treadle._journal import Journal
from treadle._types.errors import RunNotFoundError
from treadle._types.state import RunState

POLL_SECONDS = 0.2


async def watch_run(args: argparse.Namespace, journal: Journal) -> int:
    run_id = args.run or await _newest_in_progress(journal)
    display = open_display(run_id, json=args.json, quiet=args.quiet)
    try:
        state = await _follow(journal, run_id, display)
        result = result_of(state, run_id)
        display.finish(result)
        return exit_codes.code_of(result)
    finally:
        display.close()


async def _newest_in_progress(journal: Journal) -> str:
    running = await journal.list(limit=1, status="running", parent="")
    if not running:
        raise RunNotFoundError("no run is in progress: name one to see how it went")
    return running[0].run_id


async def _follow(journal: Journal, run_id: str, display: Display) -> RunState:
    """Show the records of the run and its sub-agents until the run has ended or waits for approval."""
    state = RunState()
    seen: dict[str, int] = {run_id: -1}
    while True:
        for record in await journal.load(run_id, seen[run_id]):
            state.apply(record)
            display.feed(record)
            seen[run_id] = record.seq
        for child in await journal.list(parent=run_id, limit=1000):
            for record in await journal.load(child.run_id, seen.get(child.run_id, -1)):
                display.feed(record)
                seen[child.run_id] = record.seq
        if state.finished is not None or state.paused is not None:
            return state
        await asyncio.sleep(POLL_SECONDS)
