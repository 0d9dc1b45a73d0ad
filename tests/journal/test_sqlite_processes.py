"""Processes that share a SQLite journal, and processes that are killed while they write to it."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

import treadle
from treadle._journal.process import ProcessIdentity, is_alive, this_process
from treadle._journal.sqlite import SqliteJournal
from treadle._types.errors import RunBusyError
from treadle._types.events import Noted

from .logs import done, log

SOURCE = str(Path(treadle.__file__).parent.parent)


def writer_process(path: Path, prefix: str, runs: int = 1) -> subprocess.Popen[bytes]:
    script = Path(__file__).with_name("writer_process.py")
    env = {**os.environ, "PYTHONPATH": SOURCE}
    return subprocess.Popen(
        [sys.executable, str(script), str(path), prefix, str(runs)], stdout=subprocess.PIPE, env=env
    )


def kill_after(process: subprocess.Popen[bytes], lines: int, pause: float) -> dict[str, int]:
    """Kill the process `pause` seconds after it has printed `lines` lines.

    Returns the number of the last confirmed record of each run. The pause varies the instant; nothing depends on it.
    """
    output = [process.stdout.readline() for _ in range(lines)]
    time.sleep(pause)
    process.kill()
    output += process.stdout.readlines()
    process.wait()
    process.stdout.close()
    confirmed: dict[str, int] = {}
    for line in output:
        if line.endswith(b"\n"):
            run, seq = line.split()
            confirmed[run.decode()] = int(seq)
    return confirmed


def test_a_kill_neither_loses_a_confirmed_record_nor_leaves_half_of_one(tmp_path: Path):
    path = tmp_path / "journal.db"
    generator = random.Random(7)
    confirmed_records = 0

    async def check(confirmed: dict[str, int], prefix: str) -> None:
        journal = SqliteJournal(path)
        for run, seq in confirmed.items():
            records = await journal.load(run)
            assert [r.seq for r in records] == list(range(len(records)))
            assert len(records) > seq, f"{run}#{seq} was confirmed and is lost"
            for r in records[1:]:
                assert isinstance(r.event, Noted)
                assert r.event.data["seq"] == r.seq
                assert len(r.event.data["filler"]) == r.seq * 37 % 3000
        run = f"{prefix}-0"
        if run in confirmed:  # another driver can resume the run at once
            assert await journal.claim(run, "next") == 2
            await journal.append([done(run, len(await journal.load(run)))])
        await journal.aclose()

    for kill in range(12):
        process = writer_process(path, f"p{kill}", runs=3)
        confirmed = kill_after(process, lines=generator.randrange(0, 250), pause=generator.uniform(0, 0.005))
        confirmed_records += sum(seq + 1 for seq in confirmed.values())
        asyncio.run(check(confirmed, f"p{kill}"))
    assert confirmed_records > 600
    with sqlite3.connect(path) as con:
        assert con.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    con.close()


async def test_two_processes_cannot_drive_one_run(tmp_path: Path):
    path = tmp_path / "journal.db"
    process = writer_process(path, "p")
    process.stdout.readline()
    journal = SqliteJournal(path)
    with pytest.raises(RunBusyError, match=f"process {process.pid}"):
        await journal.claim("p-0", "me")
    with pytest.raises(RunBusyError, match=f"process {process.pid}"):
        await journal.append([done("p-0", len(await journal.load("p-0")))])
    with pytest.raises(RunBusyError):
        await journal.delete("p-0")
    assert (await journal.list())[0].status == "running"
    await journal.append(log("mine"))  # other runs of both processes are not affected
    process.kill()
    process.stdout.read()  # pyright: ignore
    # Its exit status is not read yet: such a process (a zombie) counts as ended.
    identity = ProcessIdentity(this_process().host, process.pid, "")
    while is_alive(identity) is not False:  # noqa: ASYNC110 - it depends on another process
        await asyncio.sleep(0.01)
    assert await journal.claim("p-0", "me") == 2
    await journal.append([done("p-0", len(await journal.load("p-0")))])
    await journal.aclose()
    process.wait()
    process.stdout.close()
