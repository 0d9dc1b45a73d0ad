"""The journal port: where records go before anything else may see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from treadle._types.events import Record

MONTH = 30 * 86400.0


class RunInfo(Struct, frozen=True, omit_defaults=True):
    """One line about a run, for lists."""

    run_id: str
    parent: str = ""
    agent: str = ""
    model: str = ""
    question: str = ""
    conversation: str = ""
    user: str = ""
    status: str = "running"
    """running | finished | paused"""
    stop_reason: str = ""
    created: float = 0.0
    updated: float = 0.0
    records: int = 0


class InboxItem(Struct, frozen=True, omit_defaults=True):
    """Something another thread, process or machine wants the one driver of a run to know."""

    id: str
    run_id: str
    kind: str
    """message | approve | cancel"""
    payload: dict[str, object] = {}


class Journal(Protocol):
    """Append, load, list; and the inbox beside it. Safe to share between runs of one event loop.

    A record's key is `(run, seq)`. `append` returns when the records are stored; a second writer of the same run gets
    `RunBusyError`. Whatever cannot be stored raises `JournalError`: an event that was not stored did not happen.
    """

    async def append(self, records: Sequence[Record]) -> None:
        """Store records of one run, the next ones in its order, all of them or none.

        Refused with `RunBusyError` when the run has gone on without this writer or another driver has claimed it.
        Shield it from cancellation: a cancelled append may have been stored or not.
        """
        ...

    async def load(self, run_id: str, after: int = -1, *, salvage: bool = False) -> list[Record]:
        """The records of a run in order; `RunNotFoundError` if there is none.

        A damaged record raises `CorruptLogError`; with `salvage` the intact records before it are returned instead.
        """
        ...

    async def list(
        self, *, limit: int = 50, status: str = "", conversation: str = "", parent: str | None = None, user: str = ""
    ) -> list[RunInfo]:
        """Newest first."""
        ...

    async def delete(self, run_id: str) -> None:
        """The run, its children and their inbox. `RunBusyError` while one of them is being driven."""
        ...

    async def gc(
        self, *, older_than: float = MONTH, keep: int = 0, statuses: Sequence[str] = ("finished",)
    ) -> Sequence[str]:
        """Delete top-level runs in one of `statuses` whose last record is more than `older_than` seconds old, but not the
        newest `keep` of them, nor any that is being driven. Returns the ids that went."""
        ...

    async def claim(self, run_id: str, owner: str) -> int:
        """Become the one driver of a run; the epoch returned fences out earlier ones. `RunBusyError` if it is being driven.

        The journal keeps the claim alive until `release` or the end of the process. A claim of a dead process on this
        machine can be taken at once, any other when its lease has run out. The same owner may claim again.
        """
        ...

    async def release(self, run_id: str, owner: str) -> None: ...

    async def put(self, item: InboxItem) -> None:
        """An item with the same id for the same run is put once."""
        ...

    async def take(self, run_id: str, kinds: Sequence[str] = ()) -> list[InboxItem]:
        """The waiting items, oldest first; nobody sees them again.

        An item leaves the inbox in one transaction with the record that accounts for it (`Injected` with its id, `Approved`
        for its call, at last `RunFinished`). If the driver dies or lets go before that, the next claim of the run puts it
        back: a message is never lost, and never in the log twice.
        """
        ...

    async def recall(self, run_id: str, item_id: str) -> bool:
        """Take back an item nobody has read yet."""
        ...

    async def aclose(self) -> None: ...
