"""What is spent by processes that race, on one journal."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from programs import python

PROGRAM = Path(__file__).with_name("spender_process.py")


def race(kind: str, place: str, schema: str = "") -> list[int]:
    command = [*python(), str(PROGRAM), kind, place, schema, "6"]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = [process.communicate(timeout=300)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    return [int(text) for text in outputs]


@pytest.mark.slow
def test_processes_that_race_on_sqlite_never_spend_more_than_there_is(tmp_path: Path):
    assert sum(race("sqlite", str(tmp_path / "journal.db"))) == 60


@pytest.mark.slow
@pytest.mark.net
def test_processes_that_race_on_postgres_never_spend_more_than_there_is(postgres: str):
    assert sum(race("postgres", postgres, "race")) == 60
