"""Finds the run that a user names."""

from __future__ import annotations

from treadle._journal import Journal, RunInfo
from treadle._types.errors import RunNotFoundError

_SHOWN = 5
"""How many runs are named when several are meant."""

_LATEST = 1000
"""Among how many runs the last one is looked for."""


async def find_run(journal: Journal, typed: str) -> str:
    """Return the id that `typed` stands for: a complete id, its unique first characters, or `last`."""
    if typed == "last":
        # A fork begins with its original's records, and so at its time: what counts is when something happened last.
        newest = await journal.list(limit=_LATEST, parent="")
        if not newest:
            raise RunNotFoundError('there are no recorded runs yet: start one with treadle run "question"')
        return max(newest, key=lambda info: info.updated).run_id
    try:
        return (await journal.info(typed)).run_id
    except RunNotFoundError:
        pass
    # The id of a sub-agent's run begins with its parent's id; then the parent is meant.
    outer = await journal.list(prefix=typed, parent="", limit=_SHOWN + 1) if typed else []
    candidates = outer or (await journal.list(prefix=typed, limit=_SHOWN + 1) if typed else [])
    if len(candidates) == 1:
        return candidates[0].run_id
    if not candidates:
        raise RunNotFoundError(f"there is no run {typed!r} in this journal: treadle runs list shows the runs")
    ids = ", ".join(info.run_id[: len(typed) + 6] for info in candidates[:_SHOWN])
    raise RunNotFoundError(f"{typed!r} matches several runs: {ids}{' ...' if len(candidates) > _SHOWN else ''}")


def status_of(info: RunInfo) -> str:
    return info.stop_reason or "finished" if info.status == "finished" else info.status


def name_of(info: RunInfo) -> str:
    return info.title or info.question


def notes_of(info: RunInfo) -> dict[str, str]:
    """Return the notes of people about a run, by name, without empty ones."""
    noted = {"title": info.title, "rated": info.thumb, "tags": ", ".join(info.tags), "note": info.note}
    return {name: text for name, text in noted.items() if text}
