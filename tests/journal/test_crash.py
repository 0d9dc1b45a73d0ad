"""Processes that die, and processes that meet."""

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

from .logs import done, log, started

SOURCE = str(Path(treadle.__file__).parent.parent)


def writer_process(path: Path, prefix: str, runs: int = 1) -> subprocess.Popen[bytes]:
    script = Path(__file__).with_name("writer_process.py")
    env = {**os.environ, "PYTHONPATH": SOURCE}
    return subprocess.Popen(
        [sys.executable, str(script), str(path), prefix, str(runs)], stdout=subprocess.PIPE, env=env
    )


def kill_after(process: subprocess.Popen[bytes], lines: int, pause: float) -> dict[str, int]:
    """Kill it `pause` seconds after it has said `lines` lines; the last record of each run it said was stored."""
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(lines)]
    time.sleep(pause)
    process.kill()
    said += process.stdout.readlines()
    process.wait()
    process.stdout.close()
    told: dict[str, int] = {}
    for line in said:
        if line.endswith(b"\n"):
            run, seq = line.split()
            told[run.decode()] = int(seq)
    return told


def test_kill_never_loses_what_was_acknowledged_and_never_tears_a_record(tmp_path: Path):
    path = tmp_path / "journal.db"
    chance = random.Random(7)
    acknowledged = 0

    async def check(told: dict[str, int], prefix: str) -> None:
        journal = SqliteJournal(path)
        for run, seq in told.items():
            records = await journal.load(run)
            assert [r.seq for r in records] == list(range(len(records)))
            assert len(records) > seq, f"{run}#{seq} was acknowledged and is gone"
            for r in records[1:]:
                assert isinstance(r.event, Noted)
                assert r.event.data["seq"] == r.seq
                assert len(r.event.data["filler"]) == r.seq * 37 % 3000
        run = f"{prefix}-0"
        if run in told:  # the dead driver's run goes on at once
            assert await journal.claim(run, "next") == 2
            await journal.append([done(run, len(await journal.load(run)))])
        await journal.aclose()

    for kill in range(20):
        process = writer_process(path, f"p{kill}", runs=3)
        told = kill_after(process, lines=chance.randrange(0, 250), pause=chance.uniform(0, 0.005))
        acknowledged += sum(seq + 1 for seq in told.values())
        asyncio.run(check(told, f"p{kill}"))
    assert acknowledged > 1000
    with sqlite3.connect(path) as con:
        assert con.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    con.close()


def test_two_processes_cannot_drive_one_run(tmp_path: Path):
    path = tmp_path / "journal.db"
    process = writer_process(path, "p")
    assert process.stdout is not None
    process.stdout.readline()

    async def meet() -> None:
        journal = SqliteJournal(path)
        with pytest.raises(RunBusyError, match=f"process {process.pid}"):
            await journal.claim("p-0", "me")
        with pytest.raises(RunBusyError, match=f"process {process.pid}"):
            await journal.append([done("p-0", len(await journal.load("p-0")))])
        with pytest.raises(RunBusyError):
            await journal.delete("p-0")
        assert (await journal.list())[0].status == "running"
        await journal.append(log("mine"))  # other runs of both go on side by side
        process.kill()
        process.stdout.read()  # pyright: ignore
        # Not waited for: a dead process that its parent has not buried yet (a zombie) is dead.
        for _ in range(100):
            if is_alive(ProcessIdentity(this_process().host, process.pid, "")) is False:
                break
            await asyncio.sleep(0.01)
        assert await journal.claim("p-0", "me") == 2
        await journal.append([done("p-0", len(await journal.load("p-0")))])
        await journal.aclose()

    asyncio.run(meet())
    process.wait()
    process.stdout.close()


def move_claim_elsewhere(path: Path, run: str, until: float) -> None:
    con = sqlite3.connect(path)
    with con:
        con.execute("UPDATE claims SET host = 'elsewhere', until = ? WHERE run = ?", (until, run))
    con.close()


def test_a_claim_from_elsewhere_holds_until_its_lease_ends_and_is_fenced_then(tmp_path: Path):
    path = tmp_path / "journal.db"

    async def main() -> None:
        old, new = SqliteJournal(path), SqliteJournal(path)
        await old.claim("a", "old")
        await old.append([started("a")])
        move_claim_elsewhere(path, "a", time.time() + 60)
        with pytest.raises(RunBusyError, match="old"):
            await new.claim("a", "new")
        move_claim_elsewhere(path, "a", time.time() - 1)
        assert await new.claim("a", "new") == 2
        with pytest.raises(RunBusyError, match="new"):
            await old.append([done("a", 1, "too late")])
        await new.append([done("a", 1)])
        await new.release("a", "new")
        with pytest.raises(RunBusyError, match="nobody"):
            await old.append([done("a", 2, "too late still")])
        assert len(await new.load("a")) == 2
        await old.aclose()
        assert await new.claim("a", "newer") == 3
        await new.aclose()

    asyncio.run(main())


def test_a_driver_keeps_its_lease_alive(tmp_path: Path):
    path = tmp_path / "journal.db"

    async def main() -> None:
        driver, other = SqliteJournal(path, lease=0.4), SqliteJournal(path)
        await driver.claim("a", "driver")
        for _ in range(4):
            await asyncio.sleep(0.25)
            con = sqlite3.connect(path)
            (until,) = con.execute("SELECT until FROM claims").fetchone()
            con.close()
            assert until > time.time()
        await driver.aclose()
        await other.aclose()

    asyncio.run(main())


def test_a_process_is_known_by_more_than_its_pid():
    me = this_process()
    assert is_alive(me) is not False
    assert is_alive(ProcessIdentity("elsewhere", me.pid, me.started)) is None
    if sys.platform == "linux":
        assert is_alive(me) is True
        assert is_alive(ProcessIdentity(me.host, me.pid, "1")) is False, "an earlier process with the same pid"
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert is_alive(ProcessIdentity(me.host, process.pid, me.started)) is False
