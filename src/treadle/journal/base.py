"""The journal port: where records go before anything else may see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from treadle.types.events import Record


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

    async def append(self, records: Sequence[Record]) -> None: ...

    async def load(self, run_id: str, after: int = -1) -> list[Record]:
        """The records of a run in order; `RunNotFoundError` if there is none."""
        ...

    async def list(
        self, *, limit: int = 50, status: str = "", conversation: str = "", parent: str | None = None, user: str = ""
    ) -> list[RunInfo]:
        """Newest first."""
        ...

    async def delete(self, run_id: str) -> None:
        """The run, its children and their inbox."""
        ...

    async def claim(self, run_id: str, owner: str) -> int:
        """Become the one driver of a run; the epoch returned fences out earlier ones. `RunBusyError` if it is being driven."""
        ...

    async def release(self, run_id: str, owner: str) -> None: ...

    async def put(self, item: InboxItem) -> None: ...

    async def take(self, run_id: str, kinds: Sequence[str] = ()) -> list[InboxItem]:
        """The waiting items, oldest first, removed from the inbox."""
        ...

    async def recall(self, run_id: str, item_id: str) -> bool:
        """Take back an item nobody has read yet."""
        ...

    async def aclose(self) -> None: ...
