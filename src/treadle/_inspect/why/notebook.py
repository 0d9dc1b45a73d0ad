"""The log of a search: a run of the journal, inside the one it is about, that holds the experiments.

The page follows it, and a person reads it later: what was tried, in which order, and the outcome. Because
it is a run inside another one, lists of runs do not show it, no server takes it over, and it goes when its run goes.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, cast

import msgspec

from treadle._engine.core.experiment import SEARCH
from treadle._journal.base import Journal
from treadle._safety.logs import process_redactor
from treadle._types.errors import JournalError, RunBusyError, RunNotFoundError
from treadle._types.events import Event, Noted, Record, RunFinished, RunStarted
from treadle._types.ids import fresh_id
from treadle._types.state import RunState

WHY = "why"
"""The component of its notes."""


def search_id(run_id: str) -> str:
    return f"{run_id}{SEARCH}"


class Notebook:
    """The notes of a search; one search at a time for each run."""

    def __init__(self, journal: Journal, run_id: str, state: RunState) -> None:
        self.journal, self.of, self.id = journal, run_id, search_id(run_id)
        self._state, self._owner, self._next = state, fresh_id(), -1
        self._appending = asyncio.Lock()
        """Experiments run side by side, and each record has the number after the one before it."""
        self.notes: list[dict[str, Any]] = []
        """The notes of earlier searches."""

    async def open(self, judge: str, problem: str) -> None:
        try:
            await self.journal.claim(self.id, self._owner)
            records = await self.journal.load(self.id)
        except RunNotFoundError:
            records = []
        except RunBusyError as error:
            raise RunBusyError(f"another search for the causes of run {self.of} is under way: {error}") from None
        self._next = len(records)
        self.notes = [r.event.data for r in records if isinstance(r.event, Noted) and r.event.component == WHY]
        if not records:
            started = self._state.started
            model = started.model if started else ""
            await self._append(RunStarted(self._state.question, "why", model, depth=1))
            await self.journal.claim(self.id, self._owner)
        await self.note("began", {"judge": judge, "problem": problem})

    async def note(self, what: str, data: dict[str, Any]) -> None:
        if self._next >= 0:  # a patch shows lines of the user's own file: what is secret in them stays there
            await self._append(Noted(WHY, {"what": what, **_without_secrets(data)}))

    async def close(self, text: str = "", *, complete: bool = False, data: dict[str, Any] | None = None) -> None:
        """End this search; the next one for the same run appends to it."""
        if self._next < 0:
            return
        try:
            if data is not None:
                await self.note("found", data)
            if text:
                answer = process_redactor.text(text)
                await self._append(RunFinished("answer" if complete else "budget", answer, success=complete))
        finally:
            await self.journal.release(self.id, self._owner)
            self._next = -1

    async def _append(self, event: Event) -> None:
        async with self._appending:
            await self.journal.append([Record(self.id, self._next, time.time(), event, self.of, 0, 1)])
            self._next += 1


def _without_secrets(value: Any) -> Any:
    if isinstance(value, str):
        return process_redactor.text(value)
    if isinstance(value, dict):
        return {name: _without_secrets(inner) for name, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_without_secrets(inner) for inner in cast("list[Any]", value)]
    return value


class Noticed(msgspec.Struct, frozen=True):
    """A search as its log has it: for whoever shows it."""

    notes: tuple[dict[str, Any], ...]
    """Each with `what`: began | tried | judged | found."""
    running: bool
    answer: str = ""


async def read_notebook(journal: Journal, run_id: str) -> Noticed | None:
    """Read the notes of the searches about a run; None if there was no search."""
    try:
        records = await journal.load(search_id(run_id))
        info = await journal.info(search_id(run_id))
    except (RunNotFoundError, JournalError):
        return None
    notes = [
        record.event.data for record in records if isinstance(record.event, Noted) and record.event.component == WHY
    ]
    last = records[-1].event
    return Noticed(tuple(notes), info.status == "running", last.answer if isinstance(last, RunFinished) else "")
