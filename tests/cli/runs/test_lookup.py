"""Which run a user means."""

from __future__ import annotations

import pytest

from kit import go
from treadle._cli.runs.lookup import find_run
from treadle._inspect.replay import fork_at_record
from treadle._journal import open_journal
from treadle._types.errors import RunNotFoundError
from treadle._types.events import Record, RunStarted

RUNS = [("abc111", ""), ("abc222", ""), ("def333", ""), ("def333.call", "def333")]


def find(typed: str, runs: list[tuple[str, str]] = RUNS) -> str:
    async def main() -> str:
        journal = open_journal("memory:")
        for number, (run, parent) in enumerate(runs):
            await journal.append([Record(run, 0, 100.0 + number, RunStarted("?"), parent=parent)])
        return await find_run(journal, typed)

    return go(main())


@pytest.mark.parametrize(
    ("typed", "run"),
    [("abc111", "abc111"), ("abc2", "abc222"), ("d", "def333"), ("def333.c", "def333.call"), ("last", "def333")],
)
def test_an_id_its_beginning_or_the_newest(typed: str, run: str):
    assert find(typed) == run


@pytest.mark.parametrize(
    ("typed", "message"),
    [("abc", "'abc' matches several runs: abc"), ("x", "there is no run 'x'"), ("", "there is no run ''")],
)
def test_what_matches_none_or_several(typed: str, message: str):
    with pytest.raises(RunNotFoundError, match=message):
        find(typed)
    with pytest.raises(RunNotFoundError, match="no recorded runs yet"):
        find("last", [])


def test_the_last_run_may_be_a_fork_of_an_older_one():
    async def main() -> tuple[str, str]:
        journal = open_journal("memory:")
        for number, run in enumerate(("old", "new")):
            await journal.append([Record(run, 0, 100.0 + number, RunStarted("?"))])
        forked = await fork_at_record(journal, await journal.load("old"), 1)
        return forked, await find_run(journal, "last")

    forked, last = go(main())
    assert last == forked
