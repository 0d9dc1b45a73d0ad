"""The log of a search, written by experiments that run side by side."""

from __future__ import annotations

from asyncio import gather
from pathlib import Path

from treadle import Agent, ScriptedModel
from treadle._inspect.why.notebook import Notebook, read_notebook
from treadle._journal.sqlite import SqliteJournal
from treadle._types.state import fold


async def test_notes_at_once_are_all_stored(tmp_path: Path):
    journal = SqliteJournal(tmp_path / "journal.db", synchronous="FULL")  # which stores in its thread
    result = await Agent(ScriptedModel(["Yes."]), None, journal=journal).run("Is it?")
    notebook = Notebook(journal, result.run_id, fold(await journal.load(result.run_id)))
    await notebook.open("exact", "wrong")
    await gather(*(notebook.note("tried", {"number": number}) for number in range(20)))
    await notebook.close()
    noticed = await read_notebook(journal, result.run_id)
    assert [note.get("number") for note in noticed.notes] == [None, *range(20)]
    await journal.aclose()
