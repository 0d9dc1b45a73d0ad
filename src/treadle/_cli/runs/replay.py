"""`runs replay`: every request rendered again from the log and compared with what was sent."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence

from treadle._cli.display.factory import open_display
from treadle._cli.display.text import plural
from treadle._cli.setup import exit_codes
from treadle._engine.result import result_of
from treadle._inspect.replay import replay
from treadle._journal import Journal
from treadle._types.events import Record
from treadle._types.state import fold

MAX_PAUSE = 2.0
"""The longest pause between two records when a run is played again, in seconds."""


async def replay_run(args: argparse.Namespace, journal: Journal) -> int:
    records = await journal.load(args.run)
    if args.play:
        await _play(args.run, records, args.speed)
    children = await journal.list(parent=args.run, limit=1000)
    requests = 0
    for each in (records, *[await journal.load(child.run_id) for child in children]):
        comparison = replay(each)
        requests += comparison.requests
        if comparison.difference is not None:
            print(f"run {each[0].run}: {comparison.difference}")
            return exit_codes.FAILED
    print(f"{plural(requests, 'request')} rendered again from the log, byte for byte as sent")
    return 0


async def _play(run_id: str, records: Sequence[Record], speed: float) -> None:
    display = open_display(run_id)
    before = records[0].time
    for record in records:
        if speed > 0:
            await asyncio.sleep(min(MAX_PAUSE, max(0.0, (record.time - before) / speed)))
        before = record.time
        display.feed(record)
    display.finish(result_of(fold(records), run_id))
    display.close()
