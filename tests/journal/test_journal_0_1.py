"""A journal that Treadle 0.1 wrote still loads, shows, replays, forks and resumes.

tests/data/journal_0_1/journal.db was recorded with commit 68fa8b9; record.py.txt beside it says how. It is
never recorded again: a change that breaks these tests breaks users' journals.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kit import assert_paired
from treadle import Agent, RunResult, ScriptedModel
from treadle._cli.main import main
from treadle._inspect.replay import blame, fork, replay
from treadle._journal.sqlite import SqliteJournal
from treadle._types.events import Record, StepDone, StepStarted, ThinkStarted
from treadle._types.state import fold

from .agents_0_1 import ROOMS, SMALL, agent_for

RECORDED = Path(__file__).parents[1] / "data" / "journal_0_1" / "journal.db"
RUNS = {
    "tools-compaction": "finished",
    "approval-paused": "paused",
    "approval-finished": "finished",
    "dag-finished": "finished",
    "dag-auto": "finished",
    "dag-killed": "idle",
    "dag-killed-judged": "idle",
    "guards-finished": "finished",
    "guards-killed": "idle",
    "guards-killed-retracted": "idle",
    "guards-answer-only": "finished",
    "guards-tiny": "finished",
    "selection-finished": "finished",
    "selection-killed": "idle",
    "selection-killed-early": "idle",
}
"""Every run that is nobody's child, with its status. One that was killed is idle."""
UNFINISHED = [run_id for run_id, status in RUNS.items() if status != "finished"]
ANSWERS = {
    "tools": "The keys are 7, 14, 21 and so on.",
    "approval": "The mail is sent.",
    "dag": "all done",
    "guards": "It costs 286 EUR.",
    "selection": "3 stars",
}
FORKS = [
    *(("tools-compaction", step) for step in (1, 4, 5, 7, 9)),
    *(("approval-finished", step) for step in (1, 2)),
    *(("guards-finished", step) for step in range(1, 10)),
    *(("guards-answer-only", step) for step in (2, 4, 6, 9)),
    *(("guards-tiny", step) for step in (1, 2)),
    *(("selection-finished", step) for step in (1, 2)),
]
"""Runs and steps before which they are cut: before and after each compaction, constraint and retraction."""


@pytest.fixture
def journal_file(tmp_path: Path) -> Path:
    return Path(shutil.copy(RECORDED, tmp_path / "journal.db"))


@asynccontextmanager
async def opened(path: Path) -> AsyncGenerator[SqliteJournal]:
    journal = SqliteJournal(path)
    try:
        yield journal
    finally:
        await journal.aclose()


def requests(records: list[Record], component: str = "loop") -> list[ThinkStarted]:
    events = [record.event for record in records]
    return [event for event in events if isinstance(event, ThinkStarted) and event.component == component]


def check(result: RunResult, records: list[Record], answer: str) -> None:
    assert (result.stop_reason, result.answer) == ("answer", answer)
    assert_paired(result.messages)
    replayed = replay(records)
    assert replayed.same, str(replayed.difference)


async def test_every_run_loads_and_is_listed(journal_file: Path):
    async with opened(journal_file) as journal:
        listed = {info.run_id: info.status for info in await journal.list(limit=100) if not info.parent}
        assert listed == RUNS
        for info in await journal.list(limit=100):
            records = await journal.load(info.run_id)
            assert [record.seq for record in records] == list(range(info.records))
            state = fold(records)
            assert state.started is not None
            assert (state.finished is not None, state.paused is not None) == (
                info.status == "finished",
                info.status == "paused",
            )


@pytest.mark.parametrize("run_id", RUNS)
def test_every_run_can_be_shown(
    run_id: str, journal_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "300")  # a table must not cut what is looked for
    for options in ((), ("--records",), ("--json",)):
        assert main(["runs", "show", run_id, *options, "--journal", str(journal_file)]) == 0
        shown = capsys.readouterr().out
        assert "Casa Luna" in shown or "facts" in shown or "Ada" in shown or "all of it" in shown


async def test_every_run_renders_the_requests_that_were_sent(journal_file: Path):
    async with opened(journal_file) as journal:
        for info in await journal.list(limit=100):
            records = await journal.load(info.run_id)
            replayed = replay(records)
            assert replayed.same, f"{info.run_id}: {replayed.difference}"
            assert replayed.requests == sum(isinstance(record.event, ThinkStarted) for record in records)
            for record in records:
                if isinstance(record.event, ThinkStarted):
                    assert blame(records, record.seq)


@pytest.mark.parametrize(("run_id", "step"), FORKS)
async def test_a_fork_sends_the_same_request_and_ends_well(run_id: str, step: int, journal_file: Path):
    """The first request of the fork is, byte for byte, the one the old run sent: whatever held for it still holds."""
    async with opened(journal_file) as journal:
        recorded = requests(await journal.load(run_id))
        copy = await fork(journal, run_id, step)
        before = len(await journal.load(copy))
        sent: list[str] = []
        agent, _ = agent_for(run_id, journal, sent)
        result = await agent.resume(copy)
        if paused := fold(await journal.load(copy)).paused:
            result = await agent.resume(copy, approve={call.id: True for call in paused.calls})
        records = await journal.load(copy)
        first = requests(records[before:])[0]
        original = next(request for request in recorded if request.iteration == step)
        assert (first.digest, first.iteration) == (original.digest, step)
        if run_id == "guards-answer-only":
            assert result.answer == "It is not known."
        else:
            check(result, records, "3 stars" if run_id == "guards-tiny" else ANSWERS[run_id.split("-")[0]])


@pytest.mark.parametrize("run_id", UNFINISHED)
async def test_a_paused_or_killed_run_is_resumed_and_ends_well(run_id: str, journal_file: Path):
    async with opened(journal_file) as journal:
        before = await journal.load(run_id)
        sent: list[str] = []
        agent, model = agent_for(run_id, journal, sent)
        result = await agent.resume(run_id, approve=True)
        records = await journal.load(run_id)
        assert records[: len(before)] == before
        check(result, records, ANSWERS[run_id.split("-")[0]])
        assert sent == ["ada@example.org"] * run_id.startswith("approval")
        if run_id.startswith("selection"):
            assert [request.component for request in model.requests] == ["loop", "loop"], "tools are selected once"
        if run_id.startswith("dag"):
            check_steps(records)


@pytest.mark.parametrize(
    ("answer", "successful", "requests_made"),
    [("I cannot tell.", False, 1), ("It costs 440 EUR.", True, 2)],
    ids=["gives up", "unsourced number"],
)
async def test_what_was_objected_to_before_the_fork_counts_after_it(
    answer: str, successful: bool, requests_made: int, journal_file: Path
):
    """In the old run a model gave up once, which is objected to once, and had one of two objections to a number."""
    reply = {"action": "final_answer", "final_answer": answer, "task_successful": successful}
    model = ScriptedModel([json.dumps(reply)], profile=SMALL, repeat_last=True)
    async with opened(journal_file) as journal:
        copy = await fork(journal, "guards-finished", 9)
        result = await Agent(model, ROOMS, journal=journal).resume(copy)
        assert (result.answer, len(model.requests)) == (answer, requests_made)


def check_steps(records: list[Record]) -> None:
    """A step that had ended is neither started nor counted again."""
    events = [record.event for record in records]
    ended = Counter(event.step for event in events if isinstance(event, StepDone) and event.status != "reused")
    started = Counter(event.step for event in events if isinstance(event, StepStarted))
    assert ended == Counter("abcd")
    assert started == Counter("abcd")


async def test_a_denied_call_is_not_made(journal_file: Path):
    async with opened(journal_file) as journal:
        sent: list[str] = []
        agent, _ = agent_for("approval-paused", journal, sent)
        result = await agent.resume("approval-paused", approve={"call_mail": False})
        check(result, await journal.load("approval-paused"), "The mail is sent.")
        assert sent == []
        assert result.steps[0].error
