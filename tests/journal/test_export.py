"""Exporting and importing runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle._journal.export import export_run, import_run
from treadle._journal.memory import MemoryJournal
from treadle._journal.sqlite import SqliteJournal
from treadle._types.errors import JournalError, RunNotFoundError

from .logs import log


async def test_a_run_moves_from_one_kind_of_journal_to_another(tmp_path: Path):
    memory, file = MemoryJournal(), SqliteJournal(tmp_path / "journal.db")
    await memory.append(log("a", 50))
    data = await export_run(memory, "a")
    assert await import_run(file, data) == "a"
    there, here = await memory.load("a"), await file.load("a")
    assert here[1:] == there[1:]
    assert here[0].event.origin == "imported"
    assert await export_run(file, "a") != data
    await file.aclose()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: [], "not an exported run"),
        (lambda lines: [b"{}"], "not an exported run"),
        (lambda lines: [lines[0].replace(b"treadle-run", b"other"), *lines[1:]], "'other'"),
        (lambda lines: lines[:1], "no records"),
        (lambda lines: [*lines[:3], lines[3][:20], *lines[4:]], "line 4"),
        (lambda lines: [*lines[:3], *lines[4:]], "a#3 cannot follow a#1"),
        (lambda lines: [lines[0], *lines[2:]], "does not begin once"),
    ],
    ids=["empty", "no header", "other format", "no records", "torn line", "missing line", "missing start"],
)  # fmt: skip
async def test_a_damaged_export_is_refused_as_a_whole(change, message: str):  # pyright: ignore
    source, target = MemoryJournal(), MemoryJournal()
    await source.append(log("a"))
    lines = (await export_run(source, "a")).splitlines()
    with pytest.raises(JournalError, match=message):
        await import_run(target, b"\n".join(change(lines)))
    with pytest.raises(RunNotFoundError):
        await target.load("a")


async def test_what_people_noted_goes_with_a_run():
    source, target = MemoryJournal(), MemoryJournal()
    await source.append(log("a"))
    noted = await source.annotate("a", tags=["odd"], note="It read the wrong page.", thumb="down", title="The page")
    await import_run(target, await export_run(source, "a"))
    assert b"wrong page" not in await export_run(source, "a", notes=False)
    found = await target.info("a")
    assert (found.tags, found.note, found.thumb, found.title) == (
        ("imported", *noted.tags),
        noted.note,
        noted.thumb,
        noted.title,
    )


async def test_a_failed_import_leaves_nothing_behind():
    source, target = MemoryJournal(), MemoryJournal()
    await source.append(log("a"))
    await source.append(log("b", parent="a"))
    lines = (await export_run(source, "a")).splitlines()
    with pytest.raises(JournalError):
        await import_run(target, b"\n".join(lines[:-2] + lines[-1:]))
    assert await target.list() == []
