"""Runs on Temporal over Postgres, with workers that are killed. Real servers, nothing mocked."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kit import go
from programs import python
from treadle import Agent, ScriptedModel, open_journal
from treadle._journal.base import InboxItem
from treadle._journal.memory import MemoryJournal
from treadle._types.errors import ConfigError, RunNotFoundError
from treadle._types.events import Injected, Paused, RunFinished, RunStarted, ToolDone

pytest.importorskip("temporalio")
pytest.importorskip("asyncpg")

from treadle._durable.temporal import Advancer, TemporalSubmitter
from treadle._journal.postgres import PostgresJournal

RUNS = 24


class Workers:
    def __init__(self, target: str, dsn: str, effects: Path) -> None:
        self.arguments = [target, dsn, str(effects)]
        self.processes: list[subprocess.Popen[str]] = []

    def start(self) -> int:
        """Its process id."""
        script = str(Path(__file__).with_name("worker.py"))
        process = subprocess.Popen([*python(), script, *self.arguments], stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        assert process.stdout is not None
        ready, pid = process.stdout.readline().split()
        assert ready == "ready"
        return int(pid)

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()


@pytest.fixture
def workers(target: str, dsn: str, tmp_path: Path) -> Iterator[Workers]:
    started = Workers(target, dsn, tmp_path / "effects")
    yield started
    started.stop()


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    while not await condition():  # noqa: ASYNC110 - it depends on other processes
        await asyncio.sleep(0.05)


async def has_event(journal: Any, run_id: str, kind: type[Any]) -> bool:
    try:
        return any(isinstance(record.event, kind) for record in await journal.load(run_id))
    except RunNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.net
def test_of_two_workers_one_is_killed_and_every_run_ends(target: str, dsn: str, workers: Workers, tmp_path: Path):
    first, _ = workers.start(), workers.start()
    effects = tmp_path / "effects"

    async def main() -> None:
        submitter = await TemporalSubmitter.connect(target, PostgresJournal(dsn))
        ids = [await submitter.submit(f"q{n}") for n in range(RUNS)]

        async def some_effects() -> bool:
            return effects.exists() and len(effects.read_text().split()) >= 5

        await until(some_effects)
        os.kill(first, signal.SIGKILL)
        reasons = await asyncio.gather(*(submitter.wait(run_id) for run_id in ids))
        assert reasons == ["answer"] * RUNS
        for n, run_id in enumerate(ids):
            records = await submitter.journal.load(run_id)
            last = records[-1].event
            assert isinstance(last, RunFinished)
            # The answer also names the call that was in progress at the kill: nobody knows whether it took effect.
            answer, _, unknown = last.answer.partition("\n\n[outcome unknown: pay")
            assert answer == f"done: q{n}"
            assert bool(unknown) == any(getattr(r.event, "error", "") == "unknown_outcome" for r in records), last
        await submitter.journal.aclose()

    go(main(), limit=800)
    counts = Counter(effects.read_text().split())
    # At most once: a call that was in progress at the kill is reported as unknown and not repeated.
    assert max(counts.values()) == 1
    assert len(counts) >= RUNS // 2


def _deny(run_id: str, dsn: str, target: str) -> None:
    """From a terminal."""
    options = ["runs", "deny", run_id, "--note", "not now", "--journal", dsn, "--temporal", target]
    done = subprocess.run([*python(), "-m", "treadle._cli.main", *options], capture_output=True, text=True)
    assert (done.returncode, "ask is refused" in done.stderr) == (0, True), done.stderr


@pytest.mark.slow
@pytest.mark.net
def test_approval_message_and_cancellation_go_through_the_inbox(target: str, dsn: str, workers: Workers):
    workers.start()

    async def main() -> None:
        submitter = await TemporalSubmitter.connect(target, PostgresJournal(dsn))
        journal = submitter.journal
        run_id = await submitter.submit("approve")
        await until(lambda: has_event(journal, run_id, Paused))
        paused = next(r.event for r in await journal.load(run_id) if isinstance(r.event, Paused))
        call_id = paused.calls[0].id
        with pytest.raises(ConfigError, match="no call 'other' waits"):
            await submitter.approve(run_id, "other")
        with pytest.raises(ConfigError, match="'what': expected string"):
            await submitter.approve(run_id, call_id, args={"what": 5})
        await submitter.approve(run_id, call_id, args={"what": "that"}, always=True, by="ann")
        assert await submitter.wait(run_id) == "answer"
        last = (await journal.load(run_id))[-1].event
        assert isinstance(last, RunFinished)
        assert last.answer == "done: allowed that"
        run_id = await submitter.submit("approve")
        await until(lambda: has_event(journal, run_id, Paused))
        await asyncio.to_thread(_deny, run_id, dsn, target)
        assert await submitter.wait(run_id) == "answer"
        last = (await journal.load(run_id))[-1].event
        assert isinstance(last, RunFinished)
        assert "the user refused: not now" in last.answer
        run_id = await submitter.submit("external")
        await until(lambda: has_event(journal, run_id, Paused))
        paused = next(r.event for r in await journal.load(run_id) if isinstance(r.event, Paused))
        await submitter.answer(run_id, paused.calls[0].id, "a cat", by="ann")
        assert await submitter.wait(run_id) == "answer"
        last = (await journal.load(run_id))[-1].event
        assert isinstance(last, RunFinished)
        assert last.answer == "done: a cat"
        endless = await submitter.submit("long")
        await until(lambda: has_event(journal, endless, ToolDone))
        await submitter.send(endless, "hurry")
        await until(lambda: has_event(journal, endless, Injected))
        await submitter.cancel(endless)
        assert await submitter.wait(endless) == "cancelled"
        await journal.aclose()

    go(main(), limit=800)


@pytest.mark.slow
@pytest.mark.net
@pytest.mark.parametrize(
    ("agent", "place", "reason", "answer"),
    [
        ("over", "attic", "final_tool", "It is in the attic."),
        ("besides", "cellar", "answer", "told: It is in the cellar."),
    ],
    ids=["handoff", "background"],
)  # fmt: skip
def test_the_work_of_another_agent_goes_on_when_its_worker_is_killed(
    target: str, dsn: str, workers: Workers, tmp_path: Path, agent: str, place: str, reason: str, answer: str
):
    first = workers.start()
    effects, at_work = tmp_path / "effects", tmp_path / f"effects.{place}"

    async def main() -> None:
        submitter = await TemporalSubmitter.connect(target, PostgresJournal(dsn))
        run_id = await submitter.submit(f"Is it in the {place}?", agent=agent)

        async def working() -> bool:
            return at_work.exists() and at_work.read_text() == str(first)

        await until(working)  # the other agent's call is under way
        os.kill(first, signal.SIGKILL)
        workers.start()
        assert await submitter.wait(run_id) == reason
        records = await submitter.journal.load(run_id)
        last = records[-1].event
        assert isinstance(last, RunFinished)
        assert last.answer == answer
        inside = await submitter.journal.list(parent=run_id)
        assert len(inside) == 1, "the work was gone on with, not begun again"
        await submitter.journal.aclose()

    go(main(), limit=800)
    assert effects.read_text().split() == [place], "what was done before the kill is not done again"


async def test_a_worker_says_which_agents_it_has_and_where_the_run_should_be():
    journal = MemoryJournal()
    advancer = Advancer({"poet": Agent(ScriptedModel(["x"]), None)}, journal)
    with pytest.raises(RunNotFoundError, match="give all workers and submitters the same journal"):
        await advancer.advance("nowhere")
    run = Agent(ScriptedModel(["x"]), None, name="painter", journal=journal).start("q")
    await run
    assert isinstance(run.records[0].event, RunStarted)
    with pytest.raises(ConfigError, match="no agent 'painter'; it has: poet"):
        await advancer.advance(run.id)


async def test_a_run_whose_worker_died_before_its_first_record_is_started_by_the_next(tmp_path: Path):
    path = str(tmp_path / "j.db")
    died, journal = open_journal(path), open_journal(path)
    await journal.put(InboxItem("start-r", "r", "start", {"question": "q", "agent": "poet", "user": ""}))
    assert await died.take("r", ["start"])  # and then kill -9
    advancer = Advancer({"poet": Agent(ScriptedModel(["x"]), None)}, journal)
    _, run = await advancer._open("r")
    assert run.id == "r"
    await asyncio.gather(died.aclose(), journal.aclose())
