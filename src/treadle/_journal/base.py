"""The journal port: records are stored here before anything else may see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, Unpack

from msgspec import Struct
from msgspec.structs import replace

from treadle._journal.catalog.values import (
    Annotations,
    Fits,
    Notes,
    Overview,
    RequestNote,
    RunFilter,
    RunSummary,
    Thumb,
    ToolUse,
)
from treadle._types.events import Record
from treadle._types.usage import Usage
from treadle._types.value import Value

MONTH = 30 * 86400.0
UNDONE = "undone"
"""The tag of runs that a person took back."""


class RunInfo(Value, frozen=True, omit_defaults=True):
    """The information about one run in a list of runs."""

    run_id: str
    parent: str = ""
    agent: str = ""
    model: str = ""
    question: str = ""
    conversation: str = ""
    user: str = ""
    status: str = "running"
    """running | idle (not finished, and nobody drives it: it can be resumed) | finished | paused | parked (it was
    resumed several times without progress: a person has to)"""
    stop_reason: str = ""
    created: float = 0.0
    updated: float = 0.0
    records: int = 0
    cursor: str = ""
    """Its place in the list: `list(after=...)` continues behind it."""
    summary: RunSummary | None = None
    """What it took; None before it has ended."""
    tags: tuple[str, ...] = ()
    note: str = ""
    thumb: Thumb = ""
    """up | down | "" (nobody has said)"""
    title: str = ""
    """What people call it; on the first run of a conversation, what they call that."""

    @property
    def undone(self) -> bool:
        """Whether a person has taken it back: its conversation goes on without it."""
        return UNDONE in self.tags


def annotations_of(info: RunInfo) -> Annotations:
    return Annotations(info.tags, info.note, info.thumb, info.title)


def with_annotations(info: RunInfo, noted: Annotations) -> RunInfo:
    return replace(info, tags=noted.tags, note=noted.note, thumb=noted.thumb, title=noted.title)


class InboxItem(Struct, frozen=True, omit_defaults=True):
    """A message from another thread, process or machine to the one driver of a run."""

    id: str
    run_id: str
    kind: str
    """message | approve | cancel | start"""
    payload: dict[str, object] = {}


class Journal(Protocol):
    """Stores the records of runs, and an inbox for each run.

    A record's key is `(run, seq)`. `append` returns when the records are stored; a second writer of the same run gets
    `RunBusyError`. Whatever cannot be stored raises `JournalError`: an event that was not stored did not happen.
    """

    async def append(self, records: Sequence[Record]) -> None:
        """Store the next records of one run, all of them or none.

        Refused with `RunBusyError` when another driver has stored records meanwhile or has claimed the run.
        Shield it from cancellation: a cancelled append may have been stored or not.
        """
        ...

    async def load(self, run_id: str, after: int = -1, *, salvage: bool = False) -> list[Record]:
        """The records of a run in order; `RunNotFoundError` if there is none.

        A damaged record raises `CorruptLogError`; with `salvage` the intact records before it are returned instead.
        """
        ...

    async def list(self, *, limit: int = 50, after: str = "", **only: Unpack[RunFilter]) -> list[RunInfo]:
        """Information about the runs that match (`status="paused"`, `text="moon"`), newest first.

        `after` is the `cursor` of the last run of the page before. A run that begins or ends meanwhile makes no other
        run appear twice or not at all.
        """
        ...

    async def info(self, run_id: str) -> RunInfo:
        """Information about one run; `RunNotFoundError` if there is none."""
        ...

    async def overview(self, **only: Unpack[RunFilter]) -> Overview:
        """Counts and sums over the runs that match. No log is read for them, except once for those of older versions:
        at most 500 in each call, `pending` says how many are left."""
        ...

    async def annotate(self, run_id: str, **notes: Unpack[Notes]) -> RunInfo:
        """Change the `tags`, `note`, `thumb` or `title` of a run: others, and None, stay. Secrets are redacted."""
        ...

    async def summarise(self, run_id: str, summary: RunSummary, tools: Mapping[str, ToolUse]) -> None:
        """Store how a run ended. The engine does that; a run without is summarised by the next `overview`."""
        ...

    async def delete(self, run_id: str) -> None:
        """Delete a run, its children and their inboxes. `RunBusyError` while one of them is being driven."""
        ...

    async def gc(
        self, *, older_than: float = MONTH, keep: int = 0, statuses: Sequence[str] = ("finished",)
    ) -> Sequence[str]:
        """Delete the top-level runs in one of `statuses` whose last record is more than `older_than` seconds old.

        The newest `keep` of them stay, and so do those that are being driven. Returns the ids of the deleted runs.
        """
        ...

    async def claim(self, run_id: str, owner: str) -> int:
        """Become the only driver of a run. `RunBusyError` if it is being driven.

        The epoch that is returned fences out earlier drivers: their appends are refused. The journal renews the claim
        until `release` or the end of the process. The claim of a process of this machine that has ended can be taken
        over at once, any other when its lease has expired. The same owner may claim again.
        """
        ...

    async def release(self, run_id: str, owner: str) -> None:
        """Give up the claim."""
        ...

    async def is_driven(self, run_id: str) -> bool:
        """Return whether the run has a driver.

        A process on another machine cannot be checked directly: then this waits until its claim is renewed or
        overdue, at most a quarter of the lease.
        """
        ...

    async def put(self, item: InboxItem) -> None:
        """Put an item into the inbox of its run. An item with the same id for the same run is put once."""
        ...

    async def take(self, run_id: str, kinds: Sequence[str] = ()) -> list[InboxItem]:
        """The waiting items, oldest first; they are delivered to nobody else.

        An item leaves the inbox in one transaction with the record that accounts for it (`Injected` with its id,
        `Approved` or `ToolAnswered` for its call, `RunFinished` for all that are left). If the driver dies or gives up
        the claim before that, the next claim of the run puts the item back: a message is never lost, and never in the
        log twice.
        """
        ...

    async def recall(self, run_id: str, item_id: str) -> bool:
        """Remove an item that nobody has taken yet; return whether there was one."""
        ...

    async def note_request(self, key: str, note: RequestNote, *, since: float, alone: bool = True) -> RequestNote:
        """Store which run answers a request, and delete notes older than `since`.

        With `alone`, a key has one run: the first one noted since that time is returned, and this one only if there
        was none.
        """
        ...

    async def noted_requests(self, key: str, *, since: float) -> list[RequestNote]:
        """The runs that were noted with this key since that time, oldest first."""
        ...

    async def forget_request(self, key: str, run_id: str) -> None:
        """Forget one note. Those of a run that is deleted are deleted with it."""
        ...

    async def spent(self, keys: Sequence[str]) -> Mapping[str, Usage]:
        """What was spent under these keys, as far as there is anything."""
        ...

    async def spend(self, keys: Sequence[str], amount: Usage, fits: Fits) -> bool:
        """Add an amount to the sums of all these keys, or to none if one of the sums does not
        fit. It is one step, whoever else does the same in other processes."""
        ...

    async def aclose(self) -> None:
        """Give up what is claimed, and close what is open."""
        ...

    def close(self) -> None:
        """Close without `await`, for programs that use `run_sync`."""
        ...
