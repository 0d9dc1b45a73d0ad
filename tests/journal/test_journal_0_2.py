"""A journal that Treadle 0.2 wrote still loads, shows, replays, forks and resumes.

tests/data/journal_0_2/journal.db was recorded with commit 7fe54bdc; record.py.txt beside it says how. It is
never recorded again: a change that breaks these tests breaks users' journals.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kit import assert_paired
from treadle import RunResult
from treadle._cli.main import main
from treadle._inspect.replay import blame, fork, replay
from treadle._journal.sqlite import SqliteJournal
from treadle._types.events import ContextCompacted, Record, StepDone, ThinkStarted
from treadle._types.state import fold

from .agents_0_2 import ANSWERS, QUESTIONS, agent_for

RECORDED = Path(__file__).parents[1] / "data" / "journal_0_2" / "journal.db"
PAUSED = {"approval", "external"}


@pytest.fixture
def journal_file(tmp_path: Path) -> Path:
    return Path(shutil.copy(RECORDED, tmp_path / "journal.db"))


def check(result: RunResult, records: list[Record], run_id: str) -> None:
    assert (result.stop_reason, result.answer) == ("final_tool" if run_id == "handoff" else "answer", ANSWERS[run_id])
    assert_paired(result.messages)
    replayed = replay(records)
    assert replayed.same, str(replayed.difference)


async def test_all_runs_load_and_replay(journal_file: Path):
    journal = SqliteJournal(journal_file)
    runs = {info.run_id: info for info in await journal.list(limit=100)}
    assert {run_id for run_id, info in runs.items() if not info.parent} == {*QUESTIONS}
    assert {run_id for run_id, info in runs.items() if info.status == "paused"} == PAUSED
    assert any(info.parent == "handoff" for info in runs.values())
    kinds: set[type] = set()
    for run_id in runs:
        records = await journal.load(run_id)
        replayed = replay(records)
        assert replayed.same, f"{run_id}: {replayed.difference}"
        for record in records:
            kinds.add(type(record.event))
            assert not isinstance(record.event, ThinkStarted) or blame(records, record.seq)
    assert {ContextCompacted, StepDone} <= kinds
    await journal.aclose()


def test_all_runs_are_shown(journal_file: Path, capsys: pytest.CaptureFixture[str]):
    for run_id, question in QUESTIONS.items():
        for options in ((), ("--records",), ("--json",)):
            assert main(["runs", "show", run_id, *options, "--journal", str(journal_file)]) == 0
            assert question in capsys.readouterr().out


@pytest.mark.parametrize("run_id", QUESTIONS)
async def test_a_run_is_resumed_or_forked(run_id: str, journal_file: Path):
    """A fork before the second request sends, byte for byte, the request that the old run sent."""
    journal, sent = SqliteJournal(journal_file), list[str]()
    agent = agent_for(run_id, journal, sent)
    decided = {"results": {"call_look": "a cat"}} if run_id == "external" else {"approve": True}
    if run_id in PAUSED:
        before = await journal.load(run_id)
        result = await agent.resume(run_id, **decided)
        after = await journal.load(run_id)
        assert after[: len(before)] == before
        check(result, after, run_id)
    if run_id != "plan":  # whose steps have requests of their own
        copy = await fork(journal, run_id, 1)
        result = await agent.resume(copy)
        if fold(await journal.load(copy)).paused:
            result = await agent.resume(copy, **decided)
        records = await journal.load(copy)
        check(result, records, run_id)
        first, recorded = (
            next(record.event.digest for record in log if isinstance(record.event, ThinkStarted))
            for log in (records, await journal.load(run_id))
        )
        assert first == recorded
    assert sent == ["ada@example.org"] * (2 * (run_id == "approval"))
    await journal.aclose()
