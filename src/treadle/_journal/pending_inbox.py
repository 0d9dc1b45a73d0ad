"""Inbox items that a driver has read and that are not recorded yet.

An item is deleted from the inbox in the same transaction as the record that accounts for it: a message with the
`Injected` that names it, a decision with its `Approved`, a result with its `ToolAnswered`, all that are left with
`RunFinished`. If the driver dies before that, the item is still in the inbox.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from treadle._journal.base import InboxItem
from treadle._types.events import Approved, Event, Injected, Record, RunFinished, ToolAnswered


class PendingItems:
    """The items that the drivers of one journal have read and no record accounts for yet, by run."""

    def __init__(self) -> None:
        self._items: dict[str, list[InboxItem]] = {}

    def add(self, run_id: str, items: Iterable[InboxItem]) -> None:
        self._items.setdefault(run_id, []).extend(items)

    def recorded_by(self, records: Sequence[Record]) -> list[str]:
        """Return the ids of the items that `records`, all of one run, account for."""
        items = self._items.get(records[0].run)
        if not items:  # the usual case
            return []
        return [item.id for item in items if any(_accounts_for(record.event, item) for record in records)]

    def forget(self, run_id: str, ids: Sequence[str]) -> None:
        if remaining := [item for item in self._items.get(run_id, ()) if item.id not in ids]:
            self._items[run_id] = remaining
        else:
            self._items.pop(run_id, None)

    def remove_all(self, run_id: str) -> list[InboxItem]:
        """Forget all the items of a run, and return them."""
        return self._items.pop(run_id, [])


def _accounts_for(event: Event, item: InboxItem) -> bool:
    match event:
        case Injected(ids=ids):
            return item.id in ids
        case Approved(call_id=call_id):
            return item.kind == "approve" and item.payload.get("call_id") == call_id
        case ToolAnswered(call_id=call_id):
            return item.kind == "result" and item.payload.get("call_id") == call_id
        case _:
            return isinstance(event, RunFinished)
