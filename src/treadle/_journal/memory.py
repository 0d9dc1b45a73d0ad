"""A journal in memory, for tests, examples, and runs that need not outlive the process."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, Unpack

import msgspec

from treadle._journal.base import InboxItem, RunInfo, annotations_of, with_annotations
from treadle._journal.blobs import attached, detached
from treadle._journal.catalog import statements as sql
from treadle._journal.catalog.journal import CatalogJournal
from treadle._journal.catalog.values import Notes, RunSummary, ToolUse, clean_annotations
from treadle._journal.pending_inbox import PendingItems
from treadle._journal.rows import (
    Row,
    initial_info,
    not_found,
    refuse_unless_next,
    status_after,
    to_rows,
)
from treadle._types.errors import RunBusyError
from treadle._types.events import Record

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")


class MemoryJournal(CatalogJournal):
    inline = True
    """An append never yields to the event loop."""

    def __init__(self) -> None:
        self._logs: dict[str, list[Record]] = {}
        self._infos: dict[str, RunInfo] = {}
        """In the order in which the runs began."""
        self._tools: dict[str, Mapping[str, ToolUse]] = {}
        self._begun = 0
        self._claims: dict[str, tuple[int, str]] = {}
        self._contents: dict[str, bytes] = {}
        """Of files, by SHA-256."""
        self._uses: dict[str, set[str]] = {}
        """Which contents each run has."""
        self._inbox: list[InboxItem] = []
        self._pending_items = PendingItems()
        self._tables: sqlite3.Connection | None = None
        """For lists and sums: made when somebody first wants some, as most journals in memory are never asked."""
        self._changed: set[str] = set()
        """The runs that the tables do not have as they are now."""

    async def append(self, records: Sequence[Record]) -> None:
        if not records:
            return
        rows = to_rows(records)  # refuses what other journals could not store
        run, first = records[0].run, records[0].seq
        refuse_unless_next(run, first, len(self._logs.get(run, ())) - 1)
        if first == 0:
            self._begun += 1
            self._infos[run] = initial_info(records[0], self._begun)
        self._logs.setdefault(run, []).extend(
            self._detached(record, row) for record, row in zip(records, rows, strict=True)
        )
        info = msgspec.structs.replace(self._infos[run], updated=records[-1].time, records=len(self._logs[run]))
        for record in records:
            if status := status_after(record.event):
                info = msgspec.structs.replace(info, status=status[0], stop_reason=status[1])
        self._infos[run] = info
        self._changed.add(run)
        self._pending_items.forget(run, self._pending_items.recorded_by(records))

    async def load(self, run_id: str, after: int = -1, *, salvage: bool = False) -> list[Record]:
        if run_id not in self._logs:
            raise not_found(run_id)
        records = self._logs[run_id][after + 1 :]
        if run_id not in self._uses:
            return records
        return [msgspec.structs.replace(it, event=attached(it.event, self._contents.get)) for it in records]

    def _detached(self, record: Record, row: Row) -> Record:
        """The record as it is kept: without contents, which are kept once for all runs."""
        if not row.contents:
            return record
        self._contents |= row.contents
        self._uses.setdefault(record.run, set()).update(row.contents)
        return msgspec.structs.replace(record, event=detached(record.event)[0])

    async def _ask(self, steps: Callable[[sql.Words, Sequence[str]], sql.Steps[T]], said: str = "") -> T:
        from treadle._journal.catalog import memory as catalog

        if self._tables is None:
            self._tables = catalog.new_catalog()
            weakref.finalize(self, self._tables.close)
        catalog.bring_up_to_date(self._tables, self._changed, self._infos, self._tools)
        self._changed.clear()
        if said:
            catalog.fill_records(self._tables, self._logs)
        driven = [run for run, (_, owner) in self._claims.items() if owner]
        return catalog.run(self._tables, steps(catalog.WORDS, driven))

    async def _do(
        self, steps: Callable[[sql.Words], sql.Steps[T]], *, change: bool = True, lock: str = "", again: bool = True
    ) -> T:
        return await self._ask(lambda words, driven: steps(words))

    def _shown(self, info: RunInfo) -> RunInfo:
        idle = info.status == "running" and not self._driver(info.run_id)
        return msgspec.structs.replace(info, status="idle") if idle else info

    async def info(self, run_id: str) -> RunInfo:
        if run_id not in self._infos:
            raise not_found(run_id)
        return self._shown(self._infos[run_id])

    async def annotate(self, run_id: str, **notes: Unpack[Notes]) -> RunInfo:
        info = await self.info(run_id)
        noted = clean_annotations(annotations_of(info), notes)
        self._infos[run_id] = with_annotations(self._infos[run_id], noted)
        self._changed.add(run_id)
        return with_annotations(info, noted)

    async def summarise(self, run_id: str, summary: RunSummary, tools: Mapping[str, ToolUse]) -> None:
        if run_id in self._infos:
            self._infos[run_id] = msgspec.structs.replace(self._infos[run_id], summary=summary)
            self._tools[run_id] = tools
            self._changed.add(run_id)

    async def delete(self, run_id: str) -> None:
        if run_id not in self._logs:
            raise not_found(run_id)
        tree = [run_id]
        for run in tree:
            tree.extend(info.run_id for info in self._infos.values() if info.parent == run)
        for run in tree:
            if driver := self._driver(run):
                raise RunBusyError(f"run {run} is being driven by {driver}: cancel it first")
        for run in tree:
            del self._logs[run], self._infos[run]
            self._tools.pop(run, None)
            self._claims.pop(run, None)
            self._pending_items.remove_all(run)
            self._uses.pop(run, None)
        used = {key for keys in self._uses.values() for key in keys}
        self._contents = {key: content for key, content in self._contents.items() if key in used}
        self._inbox = [item for item in self._inbox if item.run_id not in tree]
        self._changed.update(tree)

    async def claim(self, run_id: str, owner: str) -> int:
        driver = self._driver(run_id)
        if driver and driver != owner:
            raise RunBusyError(f"run {run_id} is being driven by {driver}")
        epoch = self._claims.get(run_id, (0, ""))[0] + 1
        self._claims[run_id] = (epoch, owner)
        self._inbox = self._pending_items.remove_all(run_id) + self._inbox
        return epoch

    def _driver(self, run_id: str) -> str:
        return self._claims.get(run_id, (0, ""))[1]

    async def release(self, run_id: str, owner: str) -> None:
        epoch, driver = self._claims.get(run_id, (0, ""))
        if driver == owner:
            self._claims[run_id] = (epoch, "")

    async def is_driven(self, run_id: str) -> bool:
        return bool(self._driver(run_id))

    async def put(self, item: InboxItem) -> None:
        if all((other.run_id, other.id) != (item.run_id, item.id) for other in self._inbox):
            self._inbox.append(item)

    async def take(self, run_id: str, kinds: Sequence[str] = ()) -> list[InboxItem]:
        if not self._inbox:
            return []
        items = [item for item in self._inbox if item.run_id == run_id and (not kinds or item.kind in kinds)]
        self._inbox = [item for item in self._inbox if item not in items]
        self._pending_items.add(run_id, items)
        return items

    async def recall(self, run_id: str, item_id: str) -> bool:
        count = len(self._inbox)
        self._inbox = [item for item in self._inbox if (item.run_id, item.id) != (run_id, item_id)]
        return len(self._inbox) < count

    async def aclose(self) -> None:
        """There is nothing to close: the records can still be read."""

    def close(self) -> None:
        """The same without `await`."""
