"""Runs that are resumed, listed, replayed, forked, exported and cleared. More is in tests/journal and tests/flows."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from kit import call, echo
from treadle import Agent, ScriptedModel, tool
from treadle._inspect.replay import fork, replay
from treadle._journal.export import export_run, import_run
from treadle._journal.memory import MemoryJournal
from treadle._journal.sqlite import SqliteJournal
from treadle._journal.upcast import decode_stored
from treadle._types.events import RunStarted, encode_event


async def test_a_run_goes_on_from_its_last_record(tmp_path: Path):
    ran: list[str] = []

    @tool(effect="idempotent")
    async def work(n: int) -> str:
        """Work."""
        ran.append(str(n))
        if n == 2:
            second.set()
        return f"done {n}"

    second = asyncio.Event()
    journal = SqliteJournal(tmp_path / "journal.db")
    run = Agent(ScriptedModel([call("work", n=1), call("work", n=2), "end"]), [work], journal=journal).start("q")
    await second.wait()
    await run.abandon()
    result = await Agent(ScriptedModel(["end"]), [work], journal=journal).resume(run.id)
    assert result.answer == "end"
    assert ran.count("1") == 1
    await journal.aclose()


async def test_list_resume_replay_fork_export_import():
    journal = MemoryJournal()
    agent = Agent(ScriptedModel([call("echo", text="a"), "one", "two"]), [echo], journal=journal)
    result = await agent.run("q")
    assert [info.run_id for info in await journal.list()] == [result.run_id]
    assert replay(await journal.load(result.run_id)).same
    forked = await fork(journal, result.run_id, 2)
    assert (await agent.resume(forked)).answer == "two"
    other = MemoryJournal()
    assert await import_run(other, await export_run(journal, result.run_id)) == result.run_id
    assert (await other.load(result.run_id))[1:] == (await journal.load(result.run_id))[1:]


async def test_an_older_log_still_loads_and_old_runs_can_be_cleared(tmp_path: Path):
    event = RunStarted("what?", tools=())
    older = msgspec.structs.replace(event, origin="outside")  # nothing said whose words they were
    assert decode_stored(encode_event(event), 1) == older
    unknown = msgspec.json.encode({"type": "run_started", "question": "q", "a_field_of_a_later_version": 1})
    assert decode_stored(unknown, 1).question == "q"  # pyright: ignore[reportAttributeAccessIssue]
    journal = SqliteJournal(tmp_path / "journal.db")
    result = await Agent(ScriptedModel(["x"]), [echo], journal=journal).run("q")
    assert list(await journal.gc(older_than=0.0)) == [result.run_id]
    assert await journal.list() == []
    await journal.aclose()
