"""What every journal does in the same way: lists, sums and notes of whole runs, by the statements about them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar, Unpack

from treadle._journal.base import MONTH, Journal, RunInfo
from treadle._journal.catalog import statements as sql
from treadle._journal.catalog.values import (
    Fits,
    Notes,
    Overview,
    RequestNote,
    RunFilter,
    RunSummary,
    ToolUse,
    summary_of,
)
from treadle._types.errors import CorruptLogError, RunBusyError, RunNotFoundError
from treadle._types.state import fold
from treadle._types.usage import Usage

T = TypeVar("T")
BACKFILL = 500
"""How many runs of an older version one overview summarises before it answers."""


class CatalogJournal(Journal, ABC):
    """A journal has its tables somewhere; this says what is asked of them."""

    _read_only = False

    @abstractmethod
    async def _ask(self, steps: Callable[[sql.Words, Sequence[str]], sql.Steps[T]], said: str = "") -> T:
        """Run statements that only read. They are given the runs that have a driver now; `said` is looked for in
        records."""

    @abstractmethod
    async def _do(
        self,
        steps: Callable[[sql.Words], sql.Steps[T]],
        *,
        change: bool = True,
        lock: str = "",
        again: bool = True,
    ) -> T:
        """Run statements together: nobody else does what has the same `lock` meanwhile. Without `again` they are not
        repeated when a connection was lost."""

    async def _shrink(self) -> None:
        """Give back the room of what was deleted."""

    async def list(self, *, limit: int = 50, after: str = "", **only: Unpack[RunFilter]) -> list[RunInfo]:
        return await self._ask(
            lambda words, driven: sql.list_runs(only, words, driven, limit, after), only.get("said", "")
        )

    async def info(self, run_id: str) -> RunInfo:
        return await self._ask(lambda words, driven: sql.info(run_id, words, driven))

    async def overview(self, **only: Unpack[RunFilter]) -> Overview:
        if not self._read_only:
            await self._summarise_older()
        return await self._ask(lambda words, driven: sql.overview(only, words, driven), only.get("said", ""))

    async def _summarise_older(self) -> None:
        """Summarise runs that ended before summaries were kept, or whose process died before it wrote one."""
        for run_id in await self._ask(lambda words, driven: sql.unsummarised(BACKFILL)):
            try:
                records = await self.load(run_id, salvage=True)
            except RunNotFoundError:
                continue  # deleted meanwhile
            except CorruptLogError:
                records = []  # counted as failed: it must not be tried again each time
            await self.summarise(run_id, *summary_of(fold(records)))

    async def annotate(self, run_id: str, **notes: Unpack[Notes]) -> RunInfo:
        await self._do(lambda words: sql.annotate(run_id, words, notes))
        return await self.info(run_id)

    async def summarise(self, run_id: str, summary: RunSummary, tools: Mapping[str, ToolUse]) -> None:
        await self._do(lambda words: sql.store_summary(run_id, summary, tools))

    async def gc(
        self, *, older_than: float = MONTH, keep: int = 0, statuses: Sequence[str] = ("finished",)
    ) -> Sequence[str]:
        before = time.time() - older_than
        deleted: list[str] = []
        for run in await self._ask(lambda words, driven: sql.expired(words, before, keep, statuses)):
            with suppress(RunBusyError, RunNotFoundError):  # each by itself: other writers get their turn
                await self.delete(run)
                deleted.append(run)
        if deleted:
            await self._shrink()
        return deleted

    async def note_request(self, key: str, note: RequestNote, *, since: float, alone: bool = True) -> RequestNote:
        # Two servers that get one request at once must find the same run.
        return await self._do(lambda words: sql.note_request(key, note, since, alone), lock=key)

    async def noted_requests(self, key: str, *, since: float) -> list[RequestNote]:
        return await self._do(lambda words: sql.noted_requests(key, since), change=False)

    async def forget_request(self, key: str, run_id: str) -> None:
        await self._do(lambda words: sql.forget_request(key, run_id))

    async def spent(self, keys: Sequence[str]) -> Mapping[str, Usage]:
        return await self._do(lambda words: sql.spent(keys), change=False)

    async def spend(self, keys: Sequence[str], amount: Usage, fits: Fits) -> bool:
        # Not again after a connection was lost: it may have been added, and what is given back twice is spent twice.
        return await self._do(lambda words: sql.spend(keys, amount, fits), lock="spending", again=False)
