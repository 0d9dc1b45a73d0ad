"""A process that drives runs until it is killed: `writer_process.py FILE PREFIX RUNS`.

It prints the number of each record once the journal has confirmed it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time

from treadle._journal.sqlite import SqliteJournal
from treadle._types.events import Noted, Record, RunStarted


async def drive(journal: SqliteJournal, run: str) -> None:
    await journal.claim(run, f"process {os.getpid()}")
    seq = 0
    while True:
        records = [Record(run, seq, time.time(), RunStarted("go"))] if seq == 0 else []
        while len(records) < 1 + seq % 3:
            number = seq + len(records)
            records.append(
                Record(run, number, time.time(), Noted("writer", {"seq": number, "filler": "x" * (number * 37 % 3000)}))
            )
        await journal.append(records)
        seq += len(records)
        os.write(1, f"{run} {seq - 1}\n".encode())
        await asyncio.sleep(0)


async def main(path: str, prefix: str, runs: int) -> None:
    journal = SqliteJournal(path)
    await asyncio.gather(*(drive(journal, f"{prefix}-{n}") for n in range(runs)))


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
